import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** While this file exists, launchd does not start the agent again: a person must act first. It contains the reason. */
const stayAwayPath = (dataDir: string): string => join(dataDir, 'stay-away');

export function stayAway(dataDir: string, because: string): void {
  writeFileSync(stayAwayPath(dataDir), `${because}\n`, { mode: 0o600 });
}

/** Returns why the agent stays away, or undefined when it does not. */
export function reasonToStayAway(dataDir: string): string | undefined {
  try {
    return readFileSync(stayAwayPath(dataDir), 'utf8').trim();
  } catch {
    return undefined;
  }
}

export function comeBack(dataDir: string): void {
  rmSync(stayAwayPath(dataDir), { force: true });
}
