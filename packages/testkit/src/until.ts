import { setTimeout as sleep } from 'node:timers/promises';

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>;

/**
 * Polls until the result is truthy and returns it. Rejects after `within` ms; the error contains `what`. The default
 * deadline is generous because the machine may be under load.
 */
export async function until<T>(
  poll: () => T | Promise<T>,
  options: { within?: number; every?: number; what?: string } = {},
): Promise<Truthy<T>> {
  const { within = 60_000, every = 10, what = 'the condition of the test' } = options;
  const deadline = performance.now() + within;
  for (;;) {
    const result = await poll();
    if (isTruthy(result)) return result;
    if (performance.now() >= deadline) throw new Error(`Not within ${within} ms: ${what}.`);
    await sleep(every);
  }
}

function isTruthy<T>(value: T): value is Truthy<T> {
  return Boolean(value);
}
