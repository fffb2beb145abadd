import { execFile } from 'node:child_process';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Preloaded into a server: its wall clock is off by the seconds in a file. Its monotonic clock is right, as when a machine's time is set. */
const SOURCE = `
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile long *offset;
__attribute__((constructor)) static void start(void) {
  void *map = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, open(getenv("CLOCK_OFFSET_FILE"), O_RDONLY), 0);
  if (map != MAP_FAILED) offset = map;
}
int clock_gettime(clockid_t id, struct timespec *at) {
  int result = syscall(SYS_clock_gettime, id, at);
  if (id == CLOCK_REALTIME && offset) at->tv_sec += *offset;
  return result;
}
int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
`;

export interface SteppedClock {
  /** For the environment of the server. */
  readonly env: Record<string, string>;
  step(seconds: number): void;
}

/** Linux, with a C compiler. */
export async function canStepClocks(): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  return run('cc', ['--version']).then(
    () => true,
    () => false,
  );
}

/** Prepares a clock whose files are in the folder. */
export async function steppedClock(dir: string): Promise<SteppedClock> {
  const [source, library, file] = ['clock.c', 'clock.so', 'clock-offset'].map((name) => join(dir, name));
  if (source === undefined || library === undefined || file === undefined) throw new Error('no file');
  writeFileSync(source, `#define _GNU_SOURCE\n${SOURCE}`);
  await run('cc', ['-shared', '-fPIC', '-O2', '-o', library, source]);
  writeFileSync(file, Buffer.alloc(8));
  return {
    env: { LD_PRELOAD: library, CLOCK_OFFSET_FILE: file },
    step(seconds) {
      const offset = Buffer.alloc(8);
      offset.writeBigInt64LE(BigInt(seconds));
      // Written in place: the server has mapped it.
      const opened = openSync(file, 'r+');
      writeSync(opened, offset);
      closeSync(opened);
    },
  };
}
