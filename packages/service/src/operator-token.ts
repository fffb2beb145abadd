import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { StartError } from './errors.ts';

/** Returns the operator token from the settings or from `DATA_DIR/operator-token`, which the first start creates with mode 0600. */
export function operatorToken(
  configured: string | undefined,
  dataDir: string,
): { token: string; made: boolean } {
  if (configured !== undefined) return { token: configured, made: false };
  const file = join(dataDir, 'operator-token');
  const known = readIfThere(file);
  if (known !== undefined && known.length >= 16) return { token: known, made: false };
  const token = randomBytes(32).toString('base64url');
  try {
    mkdirSync(dataDir, { recursive: true });
    writeFileSync(file, `${token}\n`, { mode: 0o600 });
  } catch (error) {
    throw new StartError(
      [`${file} cannot be written; give this user a DATA_DIR it owns, or set OPERATOR_TOKEN`],
      1,
      error,
    );
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
