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
  const stop = new AbortController();
  void watch();
  return () => stop.abort();

  async function watch(): Promise<void> {
    while (!stop.signal.aborted) {
      const [wall, monotonic] = [clock.now(), clock.monotonic()];
      await clock.sleep(options.everyMs, stop.signal);
      const slept = clock.now() - wall - (clock.monotonic() - monotonic);
      if (slept > options.toleranceMs && !stop.signal.aborted) onWake();
    }
  }
}
