import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files in the data folder that the database depends on: phone numbers are looked up with the journal key. */
export const SECRET_FILES = ['operator-token', 'journal-key'];

export function readSecretFiles(dataDir: string): Record<string, string> {
  const present = SECRET_FILES.filter((name) => existsSync(join(dataDir, name)));
  return Object.fromEntries(present.map((name) => [name, readFileSync(join(dataDir, name), 'utf8')]));
}
