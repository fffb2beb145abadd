import { expect, it } from 'vitest';

import { createLogger } from './log.ts';

function lines(): { log: ReturnType<typeof createLogger>; read: () => Record<string, unknown>[] } {
  const written: string[] = [];
  const log = createLogger('info', { write: (line) => void written.push(line) });
  return { log, read: () => written.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

it('writes one JSON object a line, with a time and a level in words', () => {
  const { log, read } = lines();
  log.info({ requestId: 'r1' }, 'hello');
  expect(read()).toEqual([{ level: 'info', time: expect.any(String), requestId: 'r1', msg: 'hello' }]);
});

it('hides what should never have been passed', () => {
  const { log, read } = lines();
  log.warn(
    { token: 'canary', call: { authorization: 'Bearer canary', phone: '+15550100' }, text: 'canary' },
    'oops',
  );
  expect(JSON.stringify(read())).not.toMatch(/canary|5550100/);
});

it('describes an error and its causes without a stack', () => {
  const { log, read } = lines();
  log.error(
    { err: new Error('outer', { cause: Object.assign(new Error('inner'), { code: 'ECONNREFUSED' }) }) },
    'failed',
  );
  const [{ err }] = read() as [{ err: object }];
  expect(err).toEqual({
    name: 'Error',
    message: 'outer',
    cause: { name: 'Error', message: 'inner', code: 'ECONNREFUSED' },
  });
});
