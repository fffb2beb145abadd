/** Time as a program sees it: the wall clock for what people and other machines read, monotonic for every measured span. */
export interface Clock {
  /** Milliseconds since 1970, may jump. */
  now(): number;
  /** Milliseconds since some start. Never goes back, and does not advance while the machine sleeps. */
  monotonic(): number;
  /** Runs `task` once after `ms`. The returned function cancels it. */
  after(ms: number, task: () => void): () => void;
  /** Resolves after `ms`, or as soon as the signal aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The clock of the machine. With `keepAlive` a pending timer keeps the process running; without it only other work does. */
export function createSystemClock({ keepAlive }: { readonly keepAlive: boolean }): Clock {
  const after: Clock['after'] = (ms, task) => {
    const timer = setTimeout(task, ms);
    if (!keepAlive) timer.unref();
    return () => clearTimeout(timer);
  };
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after,
    sleep: (ms, signal) => sleepWith(after, ms, signal),
  };
}

/** The clock of a program that its sockets keep running. */
export const systemClock: Clock = createSystemClock({ keepAlive: false });

/** `sleep` for a clock that has `after`. */
export function sleepWith(after: Clock['after'], ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = after(ms, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** Runs `task` every `ms` until the returned function is called. `task` handles its own errors. */
export function every(clock: Pick<Clock, 'after'>, ms: number, task: () => void): () => void {
  let cancel = clock.after(ms, function again() {
    cancel = clock.after(ms, again);
    task();
  });
  return () => cancel();
}
