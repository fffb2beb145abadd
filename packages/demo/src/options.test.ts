import { expect, it } from 'vitest';

import { readOptions } from './options.ts';

it('parses options and applies defaults', () => {
  expect(readOptions([])).toEqual({ options: { headless: false, json: false, port: 4640 } });
  expect(readOptions(['--headless', '--json', '--port', '0'])).toEqual({
    options: { headless: true, json: true, port: 0 },
  });
});

it.each([[['--port', 'http']], [['--port', '65536']], [['--port', '-1']], [['--prot', '1']], [['anything']]])(
  'rejects %j and prints the usage',
  (args) => {
    expect(readOptions(args)).toEqual({ problem: expect.stringContaining('--headless') });
  },
);

it('prints the usage for --help', () => {
  expect(readOptions(['--help'])).toEqual({ help: expect.stringContaining('--port') });
});
