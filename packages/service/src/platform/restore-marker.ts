import { closeSync, existsSync, fsyncSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { StartError } from './errors.ts';

/** Exists while a restore replaces the databases and the files of the data folder, which belong together. */
const markerIn = (dataDir: string) => join(dataDir, 'restore-in-progress');

export function setRestoreMarker(dataDir: string): void {
  const file = openSync(markerIn(dataDir), 'w', 0o600);
  fsyncSync(file);
  closeSync(file);
}

export const clearRestoreMarker = (dataDir: string): void => rmSync(markerIn(dataDir), { force: true });

/** Throws StartError after a restore that was interrupted while it replaced files. */
export function refuseInterruptedRestore(dataDir: string): void {
  if (existsSync(markerIn(dataDir)))
    throw new StartError([
      `a restore was interrupted while it replaced the data (${markerIn(dataDir)}); run footbridge restore again with the same backup`,
    ]);
}
