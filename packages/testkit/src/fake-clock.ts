import { sleepWith } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';

/** A clock that moves only when a test advances it. Due tasks run in order of their time while it advances. */
export class FakeClock implements Clock {
  #now: number;
  #elapsed = 0;
  #tasks = new Set<{ at: number; run: () => void }>();

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  after(ms: number, run: () => void): () => void {
    const task = { at: this.#elapsed + Math.max(0, ms), run };
    this.#tasks.add(task);
    return () => this.#tasks.delete(task);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWith((delay, run) => this.after(delay, run), ms, signal);
  }

  /** Moves the wall clock only, as when the machine sleeps. */
  advanceWallClock(ms: number): void {
    this.#now += ms;
  }

  /** Moves time forward and lets pending promises settle after every task. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    await settle();
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#tasks.delete(next);
      this.#moveTo(next.at);
      next.run();
      await settle();
    }
    this.#moveTo(end);
  }

  #next(end: number): { at: number; run: () => void } | undefined {
    let next: { at: number; run: () => void } | undefined;
    for (const task of this.#tasks)
      if (task.at <= end && (next === undefined || task.at < next.at)) next = task;
    return next;
  }

  #moveTo(elapsed: number): void {
    this.#now += elapsed - this.#elapsed;
    this.#elapsed = elapsed;
  }
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
