// Compares the cost per message of this checkout with that of another one, whose dependencies are installed:
// node scripts/run.mjs bench/compare.ts FOLDER [--rounds 12] [--messages 2000] [--macs 1000]
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { footbridge } from './candidates/footbridge.ts';
import { compareCosts } from './scenarios/compare.ts';

const {
  values,
  positionals: [folder],
} = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '12' },
    messages: { type: 'string', default: '2000' },
    macs: { type: 'string', default: '1000' },
  },
});
if (folder === undefined) throw new Error('name the folder of the other checkout');
const checkout = pathToFileURL(`${resolve(folder)}/`);
const candidates = [
  footbridge({ name: 'the other checkout', checkout }),
  // Two runs of the same program also differ; this candidate shows by how much.
  footbridge({ name: 'the other checkout again', checkout }),
  footbridge({ name: 'this checkout' }),
];
await compareCosts(candidates, Number(values.macs), {
  rounds: Number(values.rounds),
  messages: Number(values.messages),
});
