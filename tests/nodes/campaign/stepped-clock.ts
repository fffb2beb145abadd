import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Service } from '@footbridge/testkit/service';

const FILE = 'clock-offset-ms';

/**
 * Runs before the program: the wall clock is off by the milliseconds in a file of the working directory, which SIGUSR2 makes it read
 * again. Timers and the monotonic clock are right, as on a machine whose time is set.
 */
const PRELOAD = `
  import { readFileSync } from 'node:fs';
  const right = Date.now;
  let offset = 0;
  const read = () => {
    try { offset = Number(readFileSync('${FILE}', 'utf8')); } catch { offset = 0; }
  };
  read();
  process.on('SIGUSR2', read);
  Date.now = () => right() + offset;
`;

/** The environment of a service whose wall clock `stepClock` can change. */
export const STEPPED_CLOCK = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(PRELOAD)}`,
};

/** Sets how far the wall clock of a running service is off. A restart keeps it. */
export function stepClock(service: Service, offsetMs: number): void {
  writeFileSync(join(service.dataDir, FILE), String(offsetMs));
  process.kill(service.pid, 'SIGUSR2');
}
