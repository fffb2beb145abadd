import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

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

export async function readToken(dataDir: string): Promise<SavedToken | undefined> {
  const text = await readFile(tokenPath(dataDir), 'utf8').catch(() => '');
  const { url, token, license } = readObject(text);
  if (typeof url !== 'string' || typeof token !== 'string' || typeof license !== 'string') return undefined;
  return { url, token, license };
}

export async function saveToken(dataDir: string, saved: SavedToken): Promise<void> {
  await writePrivateFile(tokenPath(dataDir), JSON.stringify(saved));
}
