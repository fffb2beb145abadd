import { readBytes } from './read-bytes.ts';

/** Reads a file that contains one secret, such as a token or a passphrase. */
export const readSecret = (file: string): string => readBytes(file).toString('utf8').trim();

/** Returns whether the text can be sent as a bearer token. */
export const isToken = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);
