import { createContext, Script } from 'node:vm';

/** The time limit of the first attempt. It doubles with each further attempt. */
const FIRST_ATTEMPT_MS = 200;
const MAX_ATTEMPT_MS = 10_000;
/** A decoder that used this much CPU time gets no further attempt. A decoder that waited for a busy machine does. */
const MAX_CPU_MS = 150;

const CALL = new Script('decode()');
const context = createContext({ decode: undefined });

const CONSOLE_METHODS = ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const;

/** Like `runBounded`, for a decoder that needs no time limit. */
export function runMuted<T>(decode: () => T): T | undefined {
  try {
    return mute(decode);
  } catch {
    return undefined;
  }
}

/**
 * Runs a decoder of bytes that other people can influence. Returns undefined when the decoder throws or takes too much CPU time. What
 * it prints is discarded: it would contain message text.
 */
export function runBounded<T>(decode: () => T): T | undefined {
  for (let limitMs = FIRST_ATTEMPT_MS; limitMs < MAX_ATTEMPT_MS; limitMs *= 2) {
    // Counts this thread only: garbage collection and other threads of the process do not work for the decoder.
    const before = process.threadCpuUsage();
    const attempt = runOnce(decode, limitMs);
    if (attempt !== 'timeout') return attempt.result;
    const { user, system } = process.threadCpuUsage(before);
    if ((user + system) / 1000 >= MAX_CPU_MS) return undefined;
  }
  return undefined;
}

function runOnce<T>(decode: () => T, limitMs: number): { result: T | undefined } | 'timeout' {
  let result: T | undefined;
  try {
    context['decode'] = () => {
      result = decode();
    };
    // The time limit of a script also applies to the functions that it calls. A function that is ended does not run its finally blocks.
    mute(() => CALL.runInContext(context, { timeout: limitMs }));
    return { result };
  } catch (error) {
    return isTimeout(error) ? 'timeout' : { result: undefined };
  } finally {
    context['decode'] = undefined;
  }
}

function mute<T>(run: () => T): T {
  const printers = CONSOLE_METHODS.map((name) => [name, console[name]] as const);
  for (const name of CONSOLE_METHODS) console[name] = () => {};
  try {
    return run();
  } finally {
    for (const [name, print] of printers) console[name] = print;
  }
}

/** The error belongs to the context of the script, so it is not an instance of `Error` here. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  );
}
