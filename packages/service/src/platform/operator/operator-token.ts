import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { StartError, isDiskFull } from '../errors.ts';

/** Returns the operator token from the settings or from `DATA_DIR/operator-token`. */
export function operatorToken(
  configured: string | undefined,
  dataDir: string,
): { token: string; made: boolean } {
  if (configured !== undefined) return { token: configured, made: false };
  return secretFile(dataDir, 'operator-token', 'OPERATOR_TOKEN');
}

/**
 * Returns the keys for hashes of phone numbers: the encryption keys of the settings, or the key in `DATA_DIR/journal-key`. Never in
 * the database, where it would make the hashes readable.
 */
export function journalKeys(encryptionKeys: readonly Uint8Array[], dataDir: string): readonly Uint8Array[] {
  if (encryptionKeys.length > 0) return encryptionKeys;
  return [Buffer.from(secretFile(dataDir, 'journal-key', 'CRM_OAUTH_ENCRYPTION_KEY').token)];
}

/** Returns the secret in a file of the data folder, which the first start creates with mode 0600. */
function secretFile(dataDir: string, name: string, setting: string): { token: string; made: boolean } {
  const file = join(dataDir, name);
  const known = readIfThere(file);
  if (known !== undefined && known.length >= 16) return { token: known, made: false };
  const token = randomBytes(32).toString('base64url');
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    writeFileSync(file, `${token}\n`, { mode: 0o600 });
  } catch (error) {
    const remedy = isDiskFull(error)
      ? 'the disk is full; free some space and start again'
      : `give this user a DATA_DIR it owns, or set ${setting}`;
    throw new StartError([`${file} cannot be written; ${remedy}`], 1, error);
  }
  return { token, made: true };
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}
