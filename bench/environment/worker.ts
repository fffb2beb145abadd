import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import type { Pinning } from '../measure/pinning.ts';

/** The functions that a worker process exposes. The caller is typed from them. */
export type Calls = Record<string, (...args: never[]) => unknown>;

interface CallMessage {
  readonly id: number;
  readonly name: string;
  readonly args: never[];
}

interface ResultMessage {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

export interface Worker<C extends Calls> {
  readonly pid: number;
  call<Name extends keyof C & string>(
    name: Name,
    ...args: Parameters<C[Name]>
  ): Promise<Awaited<ReturnType<C[Name]>>>;
  stop(): Promise<void>;
}

/** Runs in the worker process: handles calls from the parent until it disconnects. */
export function serve(calls: Calls): void {
  process.on('message', ({ id, name, args }: CallMessage) => {
    Promise.resolve()
      .then(() => calls[name]?.(...args))
      .then(
        (value): ResultMessage => ({ id, value }),
        (error: unknown): ResultMessage => ({
          id,
          error: error instanceof Error ? error.message : String(error),
        }),
      )
      .then((result) => process.send?.(result))
      .catch(() => process.exit(1));
  });
  process.on('disconnect', () => process.exit(0));
}

/** Starts `file` as a worker process of the environment. */
export function startWorker<C extends Calls>(
  file: URL,
  pinning: Pinning,
  { nodeArgs = [], env = process.env }: { nodeArgs?: readonly string[]; env?: NodeJS.ProcessEnv } = {},
): Worker<C> {
  const path = fileURLToPath(file);
  const args = ['--disable-warning=ExperimentalWarning', ...nodeArgs, path];
  const child = spawn(...pinning.command('environment', process.execPath, args), {
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // Preserves typed arrays.
    serialization: 'advanced',
  });
  const pending = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let lastId = 0;
  child.on('message', ({ id, value, error }: ResultMessage) => {
    const call = pending.get(id);
    pending.delete(id);
    if (error === undefined) call?.resolve(value);
    else call?.reject(new Error(error));
  });
  child.on('exit', (code, signal) => {
    for (const call of pending.values())
      call.reject(new Error(`${path} exited with ${signal ?? `code ${code}`}.`));
    pending.clear();
  });
  return {
    pid: child.pid ?? 0,
    call: (name, ...callArgs) =>
      new Promise((resolve, reject) => {
        const id = ++lastId;
        pending.set(id, { resolve, reject });
        child.send({ id, name, args: callArgs });
      }),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}
