import { createInterface } from 'node:readline/promises';

/** A conversation with the owner of the Mac. */
export interface Terminal {
  say(text: string): void;
  /** Goes to standard error. */
  complain(text: string): void;
  /** Resolves with the answer without surrounding spaces, or with undefined when no person can answer. */
  ask(question: string): Promise<string | undefined>;
  /** False when input is not a terminal: nothing is asked, and nothing waits for a person. */
  readonly interactive: boolean;
}

export function createTerminal(): Terminal {
  const interactive = process.stdin.isTTY;
  return {
    interactive,
    say: (text) => void process.stdout.write(`${text}\n`),
    complain: (text) => void process.stderr.write(`${text}\n`),
    async ask(question) {
      if (!interactive) return undefined;
      const lines = createInterface({ input: process.stdin, output: process.stdout });
      const closed = new AbortController();
      lines.once('close', () => closed.abort());
      try {
        return (await lines.question(`${question} `, { signal: closed.signal })).trim();
      } catch {
        return undefined; // Control-D
      } finally {
        lines.close();
      }
    },
  };
}
