import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { describe, expect, it } from 'vitest';

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

/** Runs a program that has a log in a separate process. */
function run(code: string, stdout: 'pipe' | number = 'pipe', options: LogOptions = {}) {
  const program = `
    import { createLog } from ${JSON.stringify(import.meta.resolve('./log.ts'))};
    import { once } from 'node:events';
    const log = createLog('info', ${JSON.stringify(options)});
    ${code}`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program];
  return spawn(process.execPath, args, { stdio: ['ignore', stdout, 'ignore', 'ipc'] });
}

interface LoggedEvent {
  readonly event: string;
  readonly line?: number;
  readonly lines?: number;
}

async function eventsOf({ stdout }: ReturnType<typeof run>): Promise<LoggedEvent[]> {
  if (stdout === null) throw new Error('the process has no standard output');
  const events: LoggedEvent[] = [];
  for await (const line of createInterface({ input: stdout })) events.push(JSON.parse(line) as LoggedEvent);
  return events;
}

/** Runs a program that logs synchronously and resolves with the lines that it wrote to `file`. */
async function eventsInFile(code: string): Promise<LoggedEvent[]> {
  const folder = mkdtempSync(join(tmpdir(), 'footbridge-log-'));
  const file = join(folder, 'log');
  writeFileSync(file, '');
  const child = run(`const file = ${JSON.stringify(file)}; ${code}`, 'pipe', { sync: true });
  await once(child, 'exit');
  const text = readFileSync(file, 'utf8');
  rmSync(folder, { recursive: true });
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as LoggedEvent]));
}

it('T52 drops lines while standard output is not read, and reports how many', async () => {
  const child = run(`
    const padding = 'x'.repeat(1000);
    for (let line = 0; line < 100_000; line++) {
      log.info({ event: 'test.line', line, padding }, 'line');
      if (line % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    process.send('written');
    await once(process, 'message');
    process.disconnect();`);
  await once(child, 'message');
  child.send('read');
  const events = await eventsOf(child);
  const dropped = events.reduce((sum, { lines: lost = 0 }) => sum + lost, 0);
  expect(dropped).toBeGreaterThan(50_000);
  expect(events.filter(({ event }) => event === 'test.line').length + dropped).toBe(100_000);
});

it.each([
  ['exits', 'process.exit();'],
  ['crashes', 'throw new Error();'],
  ['ends', 'process.disconnect();'],
])('writes all lines in order when the process %s', async (_how, end) => {
  const child = run(
    `for (let line = 0; line < 1000; line++) log.info({ event: 'test.line', line }, 'line'); ${end}`,
  );
  const events = await eventsOf(child);
  expect(events.map(({ line }) => line)).toEqual(Array.from({ length: 1000 }, (_, line) => line));
});

it('keeps the order of lines logged right before the process exits', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'footbridge-log-'));
  const files = Array.from({ length: 12 }, (_, n) => join(folder, String(n)));
  for (const file of files) {
    const output = openSync(file, 'a');
    const child = run(
      `log.info({ event: 'test.line' }, 'one'); log.info({ event: 'test.line' }, 'two'); process.exit();`,
      output,
    );
    await once(child, 'exit');
    closeSync(output);
  }
  const written = files.map((file) => readFileSync(file, 'utf8').match(/one|two/g));
  rmSync(folder, { recursive: true });
  expect(written).toEqual(files.map(() => ['one', 'two']));
});

describe.skipIf(!existsSync('/dev/full'))('on a full disk', () => {
  it.each([false, true])('T52 does not stop the process, with sync: %s', async (sync) => {
    const full = openSync('/dev/full', 'w');
    const child = run(
      `for (let line = 0; line < 10; line++) {
        log.info({ event: 'test.line' }, 'line');
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      process.exit(7);`,
      full,
      { sync },
    );
    const [code] = (await once(child, 'exit')) as [number | null];
    closeSync(full);
    expect(code).toBe(7);
  });

  /** Replaces standard output, whose descriptor is the lowest free one once it is closed. */
  const swap = `
    import { closeSync, openSync } from 'node:fs';
    const replaceStdout = (path) => { closeSync(1); openSync(path, 'a'); };`;

  it.each([
    ['exits', 'process.exit();'],
    ['crashes', 'throw new Error();'],
    ['ends', 'process.disconnect();'],
  ])(
    'with sync, writes the buffered lines when there is space again and the process %s',
    async (_how, end) => {
      const events = await eventsInFile(
        `${swap}
      replaceStdout('/dev/full');
      for (let line = 0; line < 1000; line++) log.info({ event: 'test.line', line }, 'line');
      replaceStdout(file);
      ${end}`,
      );
      expect(events.map(({ line }) => line)).toEqual(Array.from({ length: 1000 }, (_, line) => line));
    },
  );

  it.each([
    ['later lines are written', 'writeLines(2); await new Promise(setImmediate);', 102],
    ['the process exits', '', 100],
  ])(
    'T52 with sync, drops lines over the limit, and reports how many when %s',
    async (_when, after, total) => {
      const events = await eventsInFile(
        `${swap}
      let line = 0;
      const writeLines = (count) => {
        for (const end = line + count; line < end; line++)
          log.info({ event: 'test.line', line: 1000 + line, padding: 'x'.repeat(100_000) }, 'line');
      };
      replaceStdout('/dev/full');
      writeLines(100);
      replaceStdout(file);
      ${after}
      process.exit();`,
      );
      const kept = events.filter(({ event }) => event === 'test.line');
      expect(kept.length).toBeGreaterThan(50);
      expect(kept.at(-1)?.line === 1101).toBe(total === 102);
      expect(events.filter(({ event }) => event === 'log.lines_dropped')).toMatchObject([
        { lines: total - kept.length },
      ]);
    },
  );
});
