import type { Person } from '@footbridge/conformance/person';

import type { Io } from '../io.ts';
import { ask } from '../prompt.ts';

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
