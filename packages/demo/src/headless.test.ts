import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

import { tempDir, undoList } from '@footbridge/testkit/undo';
import type { Undo } from '@footbridge/testkit/undo';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { BREAKS } from './breaks.ts';

const undo = undoList();
afterEach(() => undo.run());

interface Run {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly lines: string[];
  /** Where everything it starts keeps its temporary folders. */
  readonly temp: string;
  readonly ended: Promise<{ code: number | null; complaints: string }>;
}

/** In a process group of its own, so that whatever it leaves running can be found. */
async function runDemo(cleanup: Undo, args = ['--headless', '--json']): Promise<Run> {
  const temp = await tempDir(cleanup);
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'main.ts'), ...args],
    { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TMPDIR: temp } },
  );
  cleanup.add(() => isGroupAlive(child.pid) && process.kill(-(child.pid ?? 0), 'SIGKILL'));
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => lines.push(line));
  let complaints = '';
  child.stderr.on('data', (data) => (complaints += String(data)));
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, complaints }));
  return { child, lines, temp, ended };
}

function isGroupAlive(pid: number | undefined): boolean {
  try {
    return process.kill(-(pid ?? 0), 0);
  } catch {
    return false;
  }
}

async function expectNothingLeft({ child, temp }: Run): Promise<void> {
  await until(() => !isGroupAlive(child.pid), { what: 'every process of the demo ends' });
  await until(async () => (await readdir(temp)).length === 0, { what: 'its folders go' });
}

describe('demo --headless --json', { timeout: 300_000 }, () => {
  it('tells the story and keeps every promise, one JSON object a line, and leaves nothing behind', async () => {
    const run = await runDemo(undo);
    const { code, complaints } = await run.ended;
    const told = run.lines.map((line): Record<string, unknown> => JSON.parse(line));

    expect(complaints).toBe('');
    expect(told.filter((line) => 'step' in line).map(({ step, ok }) => [step, ok])).toEqual(
      [
        'service',
        'CRM (simulated)',
        'Mac (simulated)',
        'signed text',
        'status',
        'reply',
        'tapback',
        'unsigned',
      ].map((step) => [step, true]),
    );
    const tried = told.filter((line) => 'break' in line);
    expect(tried.map(({ break: id }) => id)).toEqual(BREAKS.map(({ id }) => id));
    expect(tried.filter(({ held }) => held !== true)).toEqual([]);
    expect(told.at(-1)).toMatchObject({ done: true, ok: true });
    expect(code).toBe(0);
    await expectNothingLeft(run);
  });

  it.each([
    ['while it starts', '"demo"'],
    ['in the middle of the story', '"Mac (simulated)"'],
    ['while something is broken', '"mac-offline"'],
  ])('SIGINT %s leaves nothing behind', async (_when, after) => {
    const run = await runDemo(undo);
    await until(() => run.lines.some((line) => line.includes(after)), { what: after, within: 120_000 });
    run.child.kill('SIGINT');
    expect(await run.ended).toEqual({ code: 0, complaints: '' });
    await expectNothingLeft(run);
  });

  it('kill -9 leaves nothing behind either', async () => {
    const run = await runDemo(undo);
    await until(() => run.lines.some((line) => line.includes('"Mac (simulated)"')), {
      what: 'the Mac is up',
      within: 120_000,
    });
    run.child.kill('SIGKILL');
    await run.ended;
    await expectNothingLeft(run);
  });

  it('does not start with an option it does not know', async () => {
    const run = await runDemo(undo, ['--prot', '4700']);
    const { code, complaints } = await run.ended;
    expect([code, run.lines]).toEqual([2, []]);
    expect(complaints).toContain('npm run demo -- [--port 4640]');
    await expectNothingLeft(run);
  });
});
