import type { Io } from '../io.ts';
import { ask } from '../prompt.ts';

/** The person at the terminal, who confirms what only the user interface of the CRM shows. */
export interface Person {
  /** Resolves with undefined without a terminal or with --no-input. */
  confirm(question: string): Promise<boolean | undefined>;
  readonly isPresent: boolean;
}

export function createPerson(io: Io, noInput: boolean): Person {
  const isPresent = !noInput && io.stdin.isTTY === true && io.stderr.isTTY === true;
  return {
    isPresent,
    async confirm(question) {
      if (!isPresent) return undefined;
      return /^y(es)?$/i.test(await ask(io, `${question} [y/N] `));
    },
  };
}
