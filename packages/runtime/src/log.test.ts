import { expect, it } from 'vitest';

import { createLog } from './log.ts';
import type { Log, LogOptions } from './log.ts';

class StoreError extends Error {
  override readonly name = 'StoreError';
}

function lines(options: LogOptions = {}): { log: Log; read: () => Record<string, unknown>[] } {
  const written: string[] = [];
  const destination = { write: (line: string) => void written.push(line) };
  const log = createLog('info', { ...options, destination });
  return { log, read: () => written.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

it('writes one JSON object a line, with a time and a level in words', () => {
  const { log, read } = lines();
  log.info({ event: 'test.hello', requestId: 'r1' }, 'hello');
  expect(read()).toEqual([
    { level: 'info', time: expect.any(String), event: 'test.hello', requestId: 'r1', msg: 'hello' },
  ]);
});

it('names the program in every line when it has a name', () => {
  const { log, read } = lines({ service: 'footbridge-agent' });
  log.debug({ event: 'test.hidden' }, 'below the level');
  log.info({ event: 'test.hello' }, 'hello');
  expect(read()).toMatchObject([{ service: 'footbridge-agent', event: 'test.hello' }]);
});

it('hides fields that must never be logged', () => {
  const { log, read } = lines();
  log.warn(
    {
      event: 'test.leak',
      token: 'canary',
      call: { authorization: 'Bearer canary', phone: '+15550100', status: 401 },
      text: 'canary',
      locations: ['loc-1'],
      err: Object.assign(new Error('failed'), { code: 'EFAILED', body: 'canary' }),
    },
    'oops',
  );
  expect(JSON.stringify(read())).not.toMatch(/canary|5550100/);
  expect(read()).toMatchObject([
    { token: '[hidden]', call: { status: 401 }, locations: ['loc-1'], err: { code: 'EFAILED' } },
  ]);
});

it('describes an error and its causes, without a stack when the error has a code', () => {
  const { log, read } = lines();
  const inner = Object.assign(new Error('inner'), { code: 'ECONNREFUSED' });
  log.error({ event: 'test.failed', err: new StoreError('outer', { cause: inner }) }, 'failed');
  const [{ err }] = read() as [{ err: object }];
  expect(err).toEqual({
    name: 'StoreError',
    message: 'outer',
    cause: { name: 'Error', message: 'inner', code: 'ECONNREFUSED' },
  });
});

it('shows the stack frames of an unexpected error, without its message or the path of the installation', () => {
  const { log, read } = lines();
  log.error({ event: 'test.failed', err: new TypeError('first line\nsecond line') }, 'failed');
  const [{ err }] = read() as [{ err: { stack: string[] } }];
  expect(err.stack[0]).toMatch(/log\.test\.ts:\d+:\d+/);
  expect(err.stack.length).toBeLessThanOrEqual(8);
  expect(err.stack.join('\n')).not.toMatch(/second line|file:\/\/\/.*packages/);
});
