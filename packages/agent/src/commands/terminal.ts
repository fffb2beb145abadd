import { createInterface } from 'node:readline/promises';
import type { Interface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/** A conversation with the owner of the Mac. */
export interface Terminal {
  say(text: string): void;
  /** Goes to standard error. */
  complain(text: string): void;
  /** Resolves with the answer without surrounding spaces, or with undefined when no person can answer. */
  ask(question: string): Promise<string | undefined>;
  /** Like `ask`, and shows nothing of what is typed. */
  askSecret(question: string): Promise<string | undefined>;
  /** False when input is not a terminal: nothing is asked, and nothing waits for a person. */
  readonly interactive: boolean;
}

export function createTerminal(): Terminal {
  const { stdin, stdout, stderr } = process;
  const interactive = stdin.isTTY;
  return {
    interactive,
    say: (text) => void stdout.write(`${text}\n`),
    complain: (text) => void stderr.write(`${text}\n`),
    async ask(question) {
      if (!interactive) return undefined;
      return await readLine(createInterface({ input: stdin, output: stdout }), `${question} `);
    },
    async askSecret(question) {
      if (!interactive) return undefined;
      const output = new Writable({ write: (_chunk, _encoding, done) => done() });
      // The interface turns off the echo of the terminal, so it is created before the question is shown.
      const lines = createInterface({ input: stdin, output, terminal: true, historySize: 0 });
      stdout.write(`${question} `);
      const secret = await readLine(lines, '');
      stdout.write('\n');
      return secret;
    },
  };
}

async function readLine(lines: Interface, question: string): Promise<string | undefined> {
  const closed = new AbortController();
  lines.once('close', () => closed.abort());
  try {
    return (await lines.question(question, { signal: closed.signal })).trim();
  } catch {
    return undefined; // Control-D
  } finally {
    lines.close();
  }
}
