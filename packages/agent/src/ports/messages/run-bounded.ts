import { createContext, Script } from 'node:vm';

/** Ends a decoder that has not returned by then. A body has at most two: the second one recovers the text. */
const MAX_DECODE_MS = 200;

const CALL = new Script('decode()');
const context = createContext({ decode: undefined });

const CONSOLE_METHODS = ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const;

/**
 * Runs a decoder of bytes that other people can influence. Returns undefined when the decoder throws or takes too long. What it
 * prints is discarded: it would contain message text.
 */
export function runBounded<T>(decode: () => T): T | undefined {
  let result: T | undefined;
  const printers = CONSOLE_METHODS.map((name) => [name, console[name]] as const);
  for (const name of CONSOLE_METHODS) console[name] = () => {};
  try {
    context['decode'] = () => {
      result = decode();
    };
    // The time limit of a script also applies to the functions that it calls.
    CALL.runInContext(context, { timeout: MAX_DECODE_MS });
    return result;
  } catch {
    return undefined;
  } finally {
    context['decode'] = undefined;
    for (const [name, print] of printers) console[name] = print;
  }
}
