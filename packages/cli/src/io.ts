import type { Readable } from 'node:stream';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface OutStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** The parts of the process that a command uses. */
export interface Io {
  readonly env: Environment;
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown };
  readonly stdout: OutStream;
  readonly stderr: OutStream;
  /** Work to be done before the process exits, even when the user interrupts it. */
  readonly cleanups: Set<() => Promise<void>>;
}

/** Runs `work`, and `cleanup` after it in any case: when it fails, and when the user presses Ctrl-C. */
export async function withCleanup<T>(
  { cleanups }: Pick<Io, 'cleanups'>,
  cleanup: () => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  cleanups.add(cleanup);
  try {
    return await work();
  } finally {
    // After Ctrl-C the cleanup has already been started.
    if (cleanups.delete(cleanup)) await cleanup();
  }
}
