import { afterEach, expect, it, vi } from 'vitest';

import { onStopSignal } from './stop-signals.ts';

afterEach(() => vi.restoreAllMocks());

/** Returns what is called when the signals arrive at these times, in milliseconds. */
function calls(...arrivals: readonly (readonly [at: number, signal: NodeJS.Signals])[]): string[] {
  const called: string[] = [];
  const registered = vi.spyOn(process, 'on').mockReturnValue(process);
  onStopSignal(
    ['SIGTERM', 'SIGINT'],
    (signal) => called.push(`stop ${signal}`),
    () => called.push('force'),
  );
  const listeners = new Map(registered.mock.calls);
  for (const [at, signal] of arrivals) {
    vi.spyOn(performance, 'now').mockReturnValue(at);
    listeners.get(signal)?.(signal);
  }
  return called;
}

it('stops at the first signal', () => {
  expect(calls([0, 'SIGINT'])).toEqual(['stop SIGINT']);
  expect(calls([0, 'SIGTERM'])).toEqual(['stop SIGTERM']);
});

it('ignores a SIGINT that npm repeats, and a second SIGTERM', () => {
  expect(calls([0, 'SIGINT'], [400, 'SIGINT'])).toEqual(['stop SIGINT']);
  expect(calls([0, 'SIGTERM'], [5000, 'SIGTERM'])).toEqual(['stop SIGTERM']);
});

it('ends at once at a later SIGINT, whatever the first signal was', () => {
  expect(calls([0, 'SIGINT'], [600, 'SIGINT'])).toEqual(['stop SIGINT', 'force']);
  expect(calls([0, 'SIGTERM'], [600, 'SIGINT'])).toEqual(['stop SIGTERM', 'force']);
});
