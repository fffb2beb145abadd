import { join } from 'node:path';

import type { Finder } from '@footbridge/testkit/servers/findings';

import { packProgram } from '../../scripts/pack-program.ts';

const FOLDER = join(import.meta.dirname, '../../.cache/packed-agent');

/** The folder of the packed agent. It is made once for a run of tests, which only read it. */
export const PACKED_AGENT: Finder<string> = {
  name: 'packed-agent',
  find: async () => {
    await packProgram('agent', FOLDER);
    return FOLDER;
  },
};
