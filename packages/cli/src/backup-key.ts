import { CliError, EXIT, usageError } from './cli-error.ts';
import type { CommandContext } from './command-context.ts';
import { askHidden } from './prompt.ts';
import { readBytes } from './read-bytes.ts';

export const KEY_FILE_HELP =
  'file with the key or passphrase of the backup; - reads from standard input (default: BACKUP_KEY, BACKUP_KEY_FILE, else ask)';

/**
 * Returns the key of `--key-file`, or the one that the user types. Undefined when the settings have one, which the service reads
 * itself. A command-line option would expose it in the process list.
 */
export async function backupKey(
  { io, noInput }: Pick<CommandContext, 'io' | 'noInput'>,
  keyFile: string | undefined,
  { repeat }: { readonly repeat: boolean },
): Promise<string | undefined> {
  if (keyFile !== undefined) return readBytes(keyFile).toString('utf8').trim();
  if (io.env['BACKUP_KEY'] || io.env['BACKUP_KEY_FILE']) return undefined;
  if (io.stdin.isTTY !== true || noInput)
    throw new CliError('no key is given', {
      exitCode: EXIT.configuration,
      next: 'pass --key-file, or set BACKUP_KEY_FILE; openssl rand -hex 32 makes a key',
    });
  const key = await askHidden(io, 'Passphrase of the backup (hidden): ');
  if (repeat && (await askHidden(io, 'Once more: ')) !== key) throw usageError('the two passphrases differ');
  return key;
}
