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

/** Whether the token can be sent. A line break in it would end every attempt to connect with an exception. */
export const isUsableToken = (token: unknown): token is string =>
  typeof token === 'string' && parseBearerToken(`Bearer ${token}`) === token;

/** Resolves with undefined when there is no token, and with `unusable` when the file does not have one that can be sent. */
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

/** Like `findToken`, but without the distinction. */
export async function readToken(dataDir: string): Promise<SavedToken | undefined> {
  const found = await findToken(dataDir);
  return found === 'unusable' ? undefined : found;
}

export async function saveToken(dataDir: string, saved: SavedToken): Promise<void> {
  await writePrivateFile(tokenPath(dataDir), JSON.stringify(saved));
}
