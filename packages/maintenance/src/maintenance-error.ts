import type { MaintenanceCode } from '@footbridge/protocol/maintenance';
import { isDiskFull } from '@footbridge/service/platform/errors';

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

/** Returns the error to report for a failed write. Other errors stay as they are. */
export function writeError(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || error instanceof MaintenanceError) return error;
  if (isDiskFull(error))
    return new MaintenanceError(
      'DISK_FULL',
      `${file} cannot be written: the disk or the quota is full; nothing was replaced`,
      'free some space or use another disk, then run the command again',
      error,
    );
  const code = 'code' in error ? String(error.code) : '';
  if (/^E[A-Z]+$/.test(code))
    return new MaintenanceError(
      'FILE_NOT_WRITABLE',
      `${file} cannot be written: ${code}; nothing was replaced`,
      'check that the folder exists and that this user may write to it',
      error,
    );
  return error;
}

/** Returns the error for a database with a migration that this version does not know. */
export const databaseNewer = (migration: string, next: string) =>
  new MaintenanceError(
    'DATABASE_NEWER',
    `a newer version of Footbridge has changed the database (${migration})`,
    next,
  );
