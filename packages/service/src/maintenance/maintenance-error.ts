import type { MaintenanceCode } from '@footbridge/protocol/maintenance';

/** Why a maintenance command failed: what happened, and what to do next. */
export class MaintenanceError extends Error {
  override readonly name = 'MaintenanceError';
  readonly code: MaintenanceCode;
  readonly next: string;

  constructor(code: MaintenanceCode, message: string, next: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.next = next;
  }
}

/** File system errors when the disk, a quota or a file size limit is exhausted. */
const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
/** SQLite reports a failed write as an I/O error unless the disk is full. */
const SQLITE_FULL = /database or disk is full|disk I\/O error/;
/** `disk_full` of PostgreSQL. */
const POSTGRES_FULL = '53100';

/** Returns the error to report for a failed write. Other errors stay as they are. */
export function writeError(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || error instanceof MaintenanceError) return error;
  const code = 'code' in error ? String(error.code) : '';
  if (FULL.has(code) || code === POSTGRES_FULL || SQLITE_FULL.test(error.message))
    return new MaintenanceError(
      'DISK_FULL',
      `${file} cannot be written: the disk or the quota is full; nothing was replaced`,
      'free some space or use another disk, then run the command again',
      error,
    );
  if (/^E[A-Z]+$/.test(code))
    return new MaintenanceError(
      'FILE_NOT_WRITABLE',
      `${file} cannot be written: ${code}; nothing was replaced`,
      'check that the folder exists and that this user may write to it',
      error,
    );
  return error;
}
