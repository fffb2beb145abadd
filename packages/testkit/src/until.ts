import { setTimeout as sleep } from 'node:timers/promises';

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>;

/**
 * Polls `look` until it returns something truthy, and returns that; `what` names it in the error after the deadline. The
 * default deadline is far beyond what a loaded machine needs: waiting longer than usual is not a failure.
 */
export async function until<T>(
  look: () => T | Promise<T>,
  options: { within?: number; every?: number; what?: string } = {},
): Promise<Truthy<T>> {
  const { within = 60_000, every = 10, what = 'what the test waits for' } = options;
  const deadline = performance.now() + within;
  for (;;) {
    const seen = await look();
    if (isTruthy(seen)) return seen;
    if (performance.now() >= deadline) throw new Error(`Not within ${within} ms: ${what}.`);
    await sleep(every);
  }
}

function isTruthy<T>(value: T): value is Truthy<T> {
  return Boolean(value);
}
