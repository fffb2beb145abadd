import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { parseBearerToken } from '@footbridge/protocol/bearer-token';
import { readObject } from '@footbridge/protocol/read-json';

import { writePrivateFile } from './private-file.ts';

export interface SavedToken {
  /** The service that issued the token. */
  readonly url: string;
  readonly token: string;
  /** A hash of the license key. */
  readonly license: string;
}

export function tokenPath(dataDir: string): string {
  return join(dataDir, 'device-token.json');
}

/** Whether the token fits into a header. With a line break in it, every attempt to connect would throw. */
export const isUsableToken = (token: unknown): token is string =>
  typeof token === 'string' && parseBearerToken(`Bearer ${token}`) === token;

/** Resolves with undefined when there is no file, and with `unusable` when the file has no token that can be sent. */
export async function findToken(dataDir: string): Promise<SavedToken | 'unusable' | undefined> {
  let text: string;
  try {
    text = await readFile(tokenPath(dataDir), 'utf8');
  } catch {
    return undefined;
  }
  const { url, token, license } = readObject(text);
  if (typeof url !== 'string' || !isUsableToken(token) || typeof license !== 'string') return 'unusable';
  return { url, token, license };
}

/** Resolves with undefined when there is no usable token. */
export async function readToken(dataDir: string): Promise<SavedToken | undefined> {
  const found = await findToken(dataDir);
  return found === 'unusable' ? undefined : found;
}

export async function saveToken(dataDir: string, saved: SavedToken): Promise<void> {
  await writePrivateFile(tokenPath(dataDir), JSON.stringify(saved));
}
