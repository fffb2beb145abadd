import { expect, it } from 'vitest';

import { readOptions } from './options.ts';

it('reads what is given', () => {
  expect(readOptions([])).toEqual({ options: { headless: false, json: false, port: 4640 } });
  expect(readOptions(['--headless', '--json', '--port', '0'])).toEqual({
    options: { headless: true, json: true, port: 0 },
  });
});

it.each([[['--port', 'http']], [['--port', '65536']], [['--port', '-1']], [['--prot', '1']], [['anything']]])(
  'refuses %j and says what there is',
  (args) => {
    expect(readOptions(args)).toEqual({ problem: expect.stringContaining('--headless') });
  },
);

it('explains itself', () => {
  expect(readOptions(['--help'])).toEqual({ help: expect.stringContaining('--port') });
});
