import { join } from 'node:path';

import { fail, matching, text } from '../settings/parsers.ts';
import { SECRET, settingIn } from '../settings/setting.ts';

export type DatabaseConfig = { engine: 'sqlite'; file: string } | { engine: 'postgres'; url: string };

export const databaseUrl = (value: string) =>
  /^(postgres(ql)?:\/\/|sqlite:|file:)/.test(value)
    ? value
    : fail('must start with postgres://, or with sqlite: and a file name');

const setting = settingIn('Storage');

/** Where the service keeps its data. */
export const STORAGE = {
  dataDir: setting('DATA_DIR', './data', text, 'Folder for the SQLite file, assets and the operator token.'),
  databaseUrl: setting(
    'DATABASE_URL',
    undefined,
    databaseUrl,
    'PostgreSQL address, or sqlite: and a file name. Default: footbridge.sqlite in DATA_DIR.',
    SECRET,
  ),
  backupKey: setting(
    'BACKUP_KEY',
    undefined,
    matching(/^.{16,}$/, 'must have at least 16 characters'),
    'Key or passphrase that footbridge backup uses to encrypt and footbridge restore to decrypt. Keep a copy elsewhere: without it, no backup can be restored. Default: a prompt in the terminal.',
    SECRET,
  ),
} as const;

export const isPostgres = (url: string | undefined) => url !== undefined && url.startsWith('postgres');

/** The database at an address. Default: a file in the data folder. */
export function databaseOf(url: string | undefined, dataDir: string): DatabaseConfig {
  if (url === undefined) return { engine: 'sqlite', file: join(dataDir, 'footbridge.sqlite') };
  if (isPostgres(url)) return { engine: 'postgres', url };
  return { engine: 'sqlite', file: url.replace(/^(sqlite|file):(\/\/)?/, '') };
}
