import { expect, it } from 'vitest';

import { PARSERS } from './parsers.ts';
import { runParsers } from './run-parsers.ts';

/** `npm run fuzz` runs a million. */
const INPUTS = 2500;

it('T60 no parser fails, or takes more time or memory than a fixed amount for each byte', async () => {
  const reports = await runParsers({ seed: 45, inputs: INPUTS });
  const faults = reports.flatMap(({ parser, faults: found }) =>
    found.map(({ number, fault }) => `${parser.name}, input ${number}: ${fault}`),
  );
  expect(faults).toEqual([]);
  for (const { parser, inputs } of reports) expect(inputs, parser.name).toBeGreaterThan(0);
  expect(reports).toHaveLength(PARSERS.length);
});
