import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import type { Pinning, Role } from '../measure/pinning.ts';

/** What a process of the world can be asked to do. Both ends are ours: names and types are checked by the compiler. */
export type Calls = Record<string, (...given: never[]) => unknown>;

interface Question {
  readonly id: number;
  readonly name: string;
  readonly given: never[];
}

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly failure?: string;
}

export interface Part<C extends Calls> {
  call<Name extends keyof C & string>(
    name: Name,
    ...given: Parameters<C[Name]>
  ): Promise<Awaited<ReturnType<C[Name]>>>;
  stop(): Promise<void>;
}

/** In the process itself: answer what the conductor asks, until it hangs up. */
export function serve(calls: Calls): void {
  process.on('message', ({ id, name, given }: Question) => {
    Promise.resolve()
      .then(() => calls[name]?.(...given))
      .then(
        (value): Answer => ({ id, value }),
        (error: unknown): Answer => ({ id, failure: error instanceof Error ? error.message : String(error) }),
      )
      .then((answer) => process.send?.(answer))
      .catch(() => process.exit(1));
  });
  process.on('disconnect', () => process.exit(0));
}

/** Starts `file` as a process of the world. */
export function startPart<C extends Calls>(
  file: URL,
  pinning: Pinning,
  role: Role = 'world',
  more: readonly string[] = [],
): Part<C> {
  const path = fileURLToPath(file);
  const [command, args] = pinning.command(role, process.execPath, [
    '--disable-warning=ExperimentalWarning',
    path,
    ...more,
  ]);
  const child = spawn(command, args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // Typed arrays of timestamps cross as they are.
    serialization: 'advanced',
  });
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let asked = 0;
  child.on('message', ({ id, value, failure }: Answer) => {
    const one = waiting.get(id);
    waiting.delete(id);
    if (failure === undefined) one?.resolve(value);
    else one?.reject(new Error(failure));
  });
  child.on('exit', (code, signal) => {
    for (const one of waiting.values())
      one.reject(new Error(`${path} ended with ${signal ?? `code ${code}`}.`));
    waiting.clear();
  });
  return {
    call: (name, ...given) =>
      new Promise((resolve, reject) => {
        const id = ++asked;
        waiting.set(id, { resolve, reject });
        child.send({ id, name, given });
      }),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    },
  };
}
