import { CliError, EXIT, usageError } from './cli-error.ts';
import type { CommandContext } from './command-context.ts';
import { askHidden } from './prompt.ts';
import { readSecret } from './read-secret.ts';

export const KEY_FILE_HELP =
  'file with the backup key or passphrase; - reads standard input (default: BACKUP_KEY, then BACKUP_KEY_FILE, then a prompt)';

/**
 * Returns the key from `--key-file`, or the passphrase that the user types. Returns undefined if BACKUP_KEY or BACKUP_KEY_FILE is set:
 * the service reads those itself. No option takes the key, because it would be visible in the process list.
 */
export async function backupKey(
  { io, noInput }: Pick<CommandContext, 'io' | 'noInput'>,
  keyFile: string | undefined,
  { repeat }: { readonly repeat: boolean },
): Promise<string | undefined> {
  if (keyFile !== undefined) return readSecret(keyFile);
  if (io.env['BACKUP_KEY'] || io.env['BACKUP_KEY_FILE']) return undefined;
  if (io.stdin.isTTY !== true || noInput)
    throw new CliError('no key is given', {
      exitCode: EXIT.configuration,
      next: 'pass --key-file, or set BACKUP_KEY_FILE; openssl rand -hex 32 makes a key',
    });
  const key = await askHidden(io, 'Backup passphrase (hidden): ');
  if (repeat && (await askHidden(io, 'Repeat the passphrase: ')) !== key)
    throw usageError('the passphrases do not match');
  return key;
}
