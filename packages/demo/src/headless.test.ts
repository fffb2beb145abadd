import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

import { tempDir, createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { SCENARIOS } from './scenarios.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

interface Run {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly lines: string[];
  /** The temporary directory of all its processes. */
  readonly temp: string;
  readonly ended: Promise<{ code: number | null; errors: string }>;
}

/** Runs the demo in a separate process group, so that leftover processes can be found. */
async function runDemo(args = ['--headless', '--json']): Promise<Run> {
  const temp = await tempDir(cleanup);
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'main.ts'), ...args],
    { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TMPDIR: temp } },
  );
  cleanup.add(() => isGroupAlive(child.pid) && process.kill(-(child.pid ?? 0), 'SIGKILL'));
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => lines.push(line));
  let errors = '';
  child.stderr.on('data', (data) => (errors += String(data)));
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, errors }));
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
  await until(() => !isGroupAlive(child.pid), { what: 'the exit of all processes of the demo' });
  await until(async () => (await readdir(temp)).length === 0, { what: 'the removal of its folders' });
}

describe('demo --headless --json', { timeout: 300_000 }, () => {
  it('runs the conversation and all scenarios, prints JSON lines, and leaves nothing behind', async () => {
    const run = await runDemo();
    const { code, errors } = await run.ended;
    const events = run.lines.map((line): Record<string, unknown> => JSON.parse(line));

    expect(errors).toBe('');
    expect(events.filter((event) => 'step' in event).map(({ step, ok }) => [step, ok])).toEqual(
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
    const scenarios = events.filter((event) => 'break' in event);
    expect(scenarios.map(({ break: id }) => id)).toEqual(SCENARIOS.map(({ id }) => id));
    expect(scenarios.filter(({ held }) => held !== true)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ done: true, ok: true });
    expect(code).toBe(0);
    await expectNothingLeft(run);
  });

  it.each([
    ['during the start', '"demo"'],
    ['during the conversation', '"Mac (simulated)"'],
    ['during a scenario', '"mac-offline"'],
  ])('SIGINT %s leaves nothing behind', async (_when, after) => {
    const run = await runDemo();
    await until(() => run.lines.some((line) => line.includes(after)), { what: after, within: 120_000 });
    run.child.kill('SIGINT');
    expect(await run.ended).toEqual({ code: 0, errors: '' });
    await expectNothingLeft(run);
  });

  it('kill -9 leaves nothing behind', async () => {
    const run = await runDemo();
    await until(() => run.lines.some((line) => line.includes('"Mac (simulated)"')), {
      what: 'the start of the Mac',
      within: 120_000,
    });
    run.child.kill('SIGKILL');
    await run.ended;
    await expectNothingLeft(run);
  });

  it('does not start with an unknown option', async () => {
    const run = await runDemo(['--prot', '4700']);
    const { code, errors } = await run.ended;
    expect([code, run.lines]).toEqual([2, []]);
    expect(errors).toContain('npm run demo -- [--port 4640]');
    await expectNothingLeft(run);
  });
});
