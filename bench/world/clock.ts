import process from 'node:process';

/** Milliseconds on the one clock that all processes of a machine share. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
