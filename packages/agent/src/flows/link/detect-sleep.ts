import type { Clock } from '@footbridge/runtime/clock';

/**
 * Calls `onWake` after the Mac slept: the wall clock advanced, and the monotonic clock did not. A clock that was set looks the same and
 * costs one reconnect. Returns a function that stops the check.
 */
export function detectSleep(
  clock: Clock,
  options: { readonly everyMs: number; readonly toleranceMs: number },
  onWake: () => void,
): () => void {
  const stop = new AbortController();
  void check();
  return () => stop.abort();

  async function check(): Promise<void> {
    while (!stop.signal.aborted) {
      const [wall, monotonic] = [clock.now(), clock.monotonic()];
      await clock.sleep(options.everyMs, stop.signal);
      const slept = clock.now() - wall - (clock.monotonic() - monotonic);
      if (slept > options.toleranceMs && !stop.signal.aborted) onWake();
    }
  }
}
