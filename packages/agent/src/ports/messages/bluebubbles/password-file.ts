import { statSync } from 'node:fs';

import { readRegularFile } from '@footbridge/runtime/regular-file';

import { ConfigurationError } from '../../../errors.ts';

/** Returns the password in a file that only its owner can read. Throws a ConfigurationError otherwise. */
export function readPasswordFile(path: string): string {
  let mode: number;
  let text: string;
  try {
    ({ mode } = statSync(path));
    text = readRegularFile(path);
  } catch (error) {
    const message = `The password file of BlueBubbles cannot be read: ${path}. Write the password into it and run chmod 600 on it, or name another file with FOOTBRIDGE_BLUEBUBBLES_PASSWORD_FILE.`;
    throw new ConfigurationError(message, { cause: error });
  }
  if ((mode & 0o077) !== 0)
    throw new ConfigurationError(
      `Other users can read the password file of BlueBubbles. Run chmod 600 "${path}", and change the password if others use this Mac.`,
    );
  if (text.trim() === '')
    throw new ConfigurationError(
      `The password file of BlueBubbles is empty: ${path}. Write the password into it.`,
    );
  return text.trim();
}
