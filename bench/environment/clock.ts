import process from 'node:process';

/** Returns milliseconds on the monotonic clock, which all processes of a machine share. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
