import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** While this file exists, launchd does not start the agent again: a person must act first. */
export const stayAwayPath = (dataDir: string): string => join(dataDir, 'stay-away');

export function stayAway(dataDir: string, because: string): void {
  writeFileSync(stayAwayPath(dataDir), `${because}\n`, { mode: 0o600 });
}

export function comeBack(dataDir: string): void {
  rmSync(stayAwayPath(dataDir), { force: true });
}
