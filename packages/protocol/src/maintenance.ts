/**
 * A request of the CLI to the maintenance program. It is one line of JSON on standard input, so that no key is visible in
 * the process list. The program writes its reports as lines of JSON to standard output.
 */
export type MaintenanceRequest =
  | { readonly action: 'backup'; readonly file: string; readonly key?: string; readonly force: boolean }
  | { readonly action: 'restore'; readonly file: string; readonly key?: string; readonly checkOnly: boolean }
  | { readonly action: 'migrate'; readonly checkOnly: boolean }
  | { readonly action: 'config-check' };

/** Why a maintenance command failed. Stable, like the codes of the other channels. */
export const MAINTENANCE_CODES = [
  'BACKUP_DAMAGED',
  'BACKUP_KEY_REJECTED',
  'BACKUP_NEWER',
  'DATABASE_IN_USE',
  'DATABASE_NEWER',
  'DATABASE_UNUSABLE',
  'DISK_FULL',
  'FILE_EXISTS',
  'FILE_NOT_FOUND',
  'FILE_NOT_WRITABLE',
  'SETTINGS_INVALID',
  'KEY_INVALID',
  'INTERRUPTED',
] as const;

export type MaintenanceCode = (typeof MAINTENANCE_CODES)[number];

/** Describes a backup file. */
export interface BackupSummary {
  readonly file: string;
  /** The version of Footbridge that made it. */
  readonly version: string;
  readonly createdAt: string;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
}

export interface MigrationSummary {
  readonly database: 'main' | 'oauth';
  readonly applied: number;
  readonly pending: readonly string[];
}

export interface ConfigSummary {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  /** The origin of each setting that is not a default: `set` or `file`. */
  readonly settings: Readonly<Record<string, string>>;
}

export type MaintenanceReport =
  | { readonly type: 'progress'; readonly rows: number }
  | { readonly type: 'backup'; readonly backup: BackupSummary }
  | { readonly type: 'restored'; readonly backup: BackupSummary; readonly former: readonly string[] }
  | { readonly type: 'migrations'; readonly databases: readonly MigrationSummary[] }
  | { readonly type: 'config'; readonly config: ConfigSummary }
  | {
      readonly type: 'error';
      readonly code: MaintenanceCode;
      readonly message: string;
      readonly next: string;
    };
