import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

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

/** Logs 100 MB to a standard output that is not read, then a line after it was read. */
const FLOOD = `
  import { createLog } from ${JSON.stringify(import.meta.resolve('./log.ts'))};
  import { once } from 'node:events';
  const log = createLog('info');
  const padding = 'x'.repeat(1000);
  for (let line = 0; line < 100_000; line++) {
    log.info({ event: 'test.line', line, padding }, 'line');
    if (line % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  process.send('written');
  await once(process, 'message');
  process.disconnect();`;

it('T52 drops lines while standard output is not read, and reports how many', async () => {
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', FLOOD];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  await once(child, 'message');
  const events: string[] = [];
  let dropped = 0;
  child.send('read');
  const { stdout } = child;
  if (stdout === null) throw new Error('the child has no standard output');
  for await (const line of createInterface({ input: stdout })) {
    const { event, lines: lost = 0 } = JSON.parse(line) as { event: string; lines?: number };
    events.push(event);
    dropped += lost;
  }
  expect(dropped).toBeGreaterThan(50_000);
  expect(events.filter((event) => event === 'test.line').length + dropped).toBe(100_000);
});
