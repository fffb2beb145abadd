import { requestOf } from '@footbridge/protocol/operator/call';
import type { Call, InputOf, ResponseOf } from '@footbridge/protocol/operator/call';
import { batch, useSignal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { changes } from './live.ts';
import { ApiError, call } from './session.ts';

const POLL_MS = 5000;

export interface Data<T> {
  readonly value: ReadonlySignal<T | undefined>;
  /** The path with the query that `value` was read from. After a change of path it is the old one until the new value arrives. */
  readonly of: ReadonlySignal<string>;
  readonly problem: ReadonlySignal<string | undefined>;
  /** Reads the data again now. */
  readonly reload: () => void;
}

interface Options {
  readonly refresh: boolean;
}

/** Reads a resource of the operator API again whenever messages change, and every few seconds. Keeps the old data meanwhile, unless the resource no longer exists. */
export function useData<const C extends Call>(
  definition: C,
  input: InputOf<C>,
  options: Options,
): Data<ResponseOf<C>> {
  const { path } = requestOf(definition, { ...input });
  return useReading(path, () => call(definition, input), options);
}

/** Like `useData`, for what is read in another way. `path` names it. */
export function useReading<T>(path: string, readOnce: () => Promise<T>, options: Options): Data<T> {
  const value = useSignal<T | undefined>(undefined);
  const of = useSignal(path);
  const problem = useSignal<string | undefined>(undefined);
  const reloads = useSignal(0);

  useEffect(() => {
    let isCurrent = true;
    async function read(): Promise<void> {
      try {
        const data = await readOnce();
        if (!isCurrent) return;
        batch(() => {
          value.value = data;
          of.value = path;
          problem.value = undefined;
        });
      } catch (error) {
        if (!isCurrent) return;
        batch(() => {
          if (error instanceof ApiError && error.status === 404) value.value = undefined;
          problem.value = error instanceof Error ? error.message : String(error);
        });
      }
    }
    void read();
    // Without `refresh`, retries only until the first read succeeds.
    const isWanted = () => options.refresh || value.value === undefined;
    const timer = setInterval(() => isWanted() && void read(), POLL_MS);
    // A new subscriber is called immediately.
    const seen = changes.peek();
    const stop = changes.subscribe((count) => count !== seen && isWanted() && void read());
    return () => {
      isCurrent = false;
      clearInterval(timer);
      stop();
    };
  }, [path, options.refresh, reloads.value]);

  return { value, of, problem, reload: () => reloads.value++ };
}
