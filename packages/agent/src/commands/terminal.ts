import { createInterface } from 'node:readline/promises';
import type { Interface } from 'node:readline/promises';
import { Writable } from 'node:stream';

import { mark } from '@footbridge/runtime/finding';
import { onStopSignal } from '@footbridge/runtime/stop-signals';

import { InterruptedError } from '../errors.ts';
import { EXIT } from './exit-codes.ts';

/** A conversation with the owner of the Mac. */
export interface Terminal {
  say(text: string): void;
  /** Prints a line with ✔. */
  confirm(text: string): void;
  /** Prints a line with ⚠. */
  caution(text: string): void;
  /** Prints a line with ✖ to standard error, and below it what to do. */
  complain(text: string, next?: string): void;
  /**
   * Resolves with the answer without surrounding spaces, or with undefined when no person can answer. Rejects with an
   * InterruptedError after Control-C.
   */
  ask(question: string): Promise<string | undefined>;
  /** Like `ask`, but does not show what is typed. */
  askSecret(question: string): Promise<string | undefined>;
  /** False when input is not a terminal. Then the setup asks nothing and waits for no person. */
  readonly interactive: boolean;
  /** Aborts with an InterruptedError when the owner presses Control-C. A second Control-C ends the program at once. */
  readonly interrupted: AbortSignal;
}

export function createTerminal(): Terminal {
  const { stdin, stdout, stderr } = process;
  const interactive = stdin.isTTY;
  const interruption = new AbortController();
  const interrupt = () => interruption.abort(new InterruptedError());
  onStopSignal(['SIGINT'], interrupt, () => process.exit(EXIT.interrupted));
  return {
    interactive,
    interrupted: interruption.signal,
    say: (text) => void stdout.write(`${text}\n`),
    confirm: (text) => void stdout.write(`${mark('pass')} ${text}\n`),
    caution: (text) => void stdout.write(`${mark('warn')} ${text}\n`),
    complain: (text, next) =>
      void stderr.write(`${mark('fail', stderr)} ${text}\n${next === undefined ? '' : `  Next: ${next}\n`}`),
    async ask(question) {
      if (!interactive) return undefined;
      const answer = await readLine(
        createInterface({ input: stdin, output: stdout }),
        `${question} `,
        interrupt,
      );
      interruption.signal.throwIfAborted();
      return answer;
    },
    async askSecret(question) {
      if (!interactive) return undefined;
      const output = new Writable({ write: (_chunk, _encoding, done) => done() });
      // The interface turns off the echo of the terminal, so it is created before the question is shown.
      const lines = createInterface({ input: stdin, output, terminal: true, historySize: 0 });
      stdout.write(`${question} `);
      const secret = await readLine(lines, '', interrupt);
      stdout.write('\n');
      interruption.signal.throwIfAborted();
      return secret;
    },
  };
}

async function readLine(
  lines: Interface,
  question: string,
  interrupt: () => void,
): Promise<string | undefined> {
  const closed = new AbortController();
  lines.once('close', () => closed.abort());
  // While a line is read, Control-C arrives as a key instead of a signal.
  lines.once('SIGINT', () => {
    interrupt();
    lines.close();
  });
  try {
    return (await lines.question(question, { signal: closed.signal })).trim();
  } catch {
    return undefined; // Control-D or Control-C
  } finally {
    lines.close();
  }
}
