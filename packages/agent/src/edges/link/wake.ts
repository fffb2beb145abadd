import type { Clock } from '../../clock.ts';

/**
 * Notices that the Mac slept: the wall clock moved on, the monotonic one stood still. A clock that was set looks the
 * same, and costs one needless reconnect.
 */
export function watchForWake(
  clock: Clock,
  options: { readonly everyMs: number; readonly toleranceMs: number },
  onWake: () => void,
): () => void {
  let wall = clock.now();
  let monotonic = clock.monotonic();
  const timer = setInterval(() => {
    const slept = clock.now() - wall - (clock.monotonic() - monotonic);
    wall = clock.now();
    monotonic = clock.monotonic();
    if (slept > options.toleranceMs) onWake();
  }, options.everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
