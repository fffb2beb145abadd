import { setTimeout as sleep } from 'node:timers/promises';

import { sleepWith } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';

interface Task {
  readonly at: number;
  readonly run: () => void;
  timer: NodeJS.Timeout | undefined;
}

/**
 * The clock of the machine, of which a test may skip a part: pauses end at once, other work takes its time. With `stopped`, no
 * time passes except what is skipped.
 */
export class SkippingClock implements Clock {
  readonly #tasks = new Set<Task>();
  readonly #stoppedAt: { readonly now: number; readonly monotonic: number } | undefined;
  #skipped = 0;
  #stepped = 0;

  constructor({ stopped = false } = {}) {
    this.#stoppedAt = stopped ? { now: Date.now(), monotonic: performance.now() } : undefined;
  }

  now(): number {
    return (this.#stoppedAt?.now ?? Date.now()) + Math.round(this.#skipped) + this.#stepped;
  }

  monotonic(): number {
    return (this.#stoppedAt?.monotonic ?? performance.now()) + this.#skipped;
  }

  after(ms: number, run: () => void): () => void {
    const finish = () => {
      cancel();
      run();
    };
    const task: Task = {
      at: this.monotonic() + Math.max(0, ms),
      run: finish,
      timer: this.#startTimer(finish, ms),
    };
    const cancel = () => {
      clearTimeout(task.timer);
      this.#tasks.delete(task);
    };
    this.#tasks.add(task);
    return cancel;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWith((delay, run) => this.after(delay, run), ms, signal);
  }

  /** Runs the tasks that are due within `ms` now, in order. */
  async skip(ms: number): Promise<void> {
    const end = this.monotonic() + ms;
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#moveTo(next.at);
      next.run();
      await settle();
    }
    await settle();
    this.#moveTo(end);
    this.#rearm();
  }

  /** Advances as if the process had been suspended: tasks that became due run afterwards. */
  freeze(ms: number): void {
    this.#moveTo(this.monotonic() + ms);
    this.#rearm();
  }

  /** Sets the wall clock to another time. No time passes. */
  step(ms: number): void {
    this.#stepped += ms;
  }

  /**
   * Skips all pauses until the promise is settled. Each skipped second takes 2 ms, so that a slow disk or socket does not advance
   * this clock by hours.
   */
  async skipThrough<T>(promise: Promise<T>): Promise<T> {
    const settled = Promise.allSettled([promise]).then(() => true);
    for (let isSettled = false; !isSettled;)
      isSettled = await Promise.race([settled, this.#skipOneSecond().then(() => false)]);
    return promise;
  }

  async #skipOneSecond(): Promise<void> {
    await this.skip(1000);
    await sleep(2);
  }

  #next(end: number): Task | undefined {
    let next: Task | undefined;
    for (const task of this.#tasks)
      if (task.at <= end && (next === undefined || task.at < next.at)) next = task;
    return next;
  }

  #moveTo(time: number): void {
    this.#skipped += Math.max(0, time - this.monotonic());
  }

  #rearm(): void {
    for (const task of this.#tasks) {
      clearTimeout(task.timer);
      task.timer = this.#startTimer(task.run, Math.max(0, task.at - this.monotonic()));
    }
  }

  #startTimer(run: () => void, ms: number): NodeJS.Timeout | undefined {
    // A stopped clock still runs tasks that are already due.
    return this.#stoppedAt !== undefined && ms > 0 ? undefined : setTimeout(run, ms).unref();
  }
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
