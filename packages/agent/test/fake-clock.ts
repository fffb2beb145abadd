import type { Clock } from '../src/clock.ts';

/** A clock that moves only when told to. Sleepers wake in order of their time while it advances. */
export class FakeClock implements Clock {
  #now = Date.now();
  #elapsed = 0;
  readonly #sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (ms <= 0 || signal?.aborted === true) return resolve();
      const wake = (): void => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper = { at: this.#elapsed + ms, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  /** Moves time forward and lets pending promises settle after every wake. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    await settle();
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#moveTo(next.at);
      next.wake();
      await settle();
    }
    this.#moveTo(end);
  }

  /** Advances the wall clock only, as when the Mac sleeps. */
  sleepMac(ms: number): void {
    this.#now += ms;
  }

  #next(end: number): { readonly at: number; readonly wake: () => void } | undefined {
    return [...this.#sleepers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
  }

  #moveTo(elapsed: number): void {
    this.#now += elapsed - this.#elapsed;
    this.#elapsed = elapsed;
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
