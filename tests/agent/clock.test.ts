import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { until } from '@footbridge/testkit/until';
import { afterEach, expect, it } from 'vitest';

import { doctor } from '@footbridge/agent/commands/doctor';
import { createOutput } from '@footbridge/agent/commands/output';
import { readSettings } from '@footbridge/agent/config/config';
import { openAgentJournalAsIs } from '@footbridge/agent/open/journal';
import { stageFile } from '@footbridge/agent/ports/messages/macos/stage-file';
import { ANNA, person, runAgent } from './running-agent.ts';
import type { RunningAgent } from './running-agent.ts';
import { ScriptedService } from './scripted-service.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const DAY = 86_400_000;
const HOUR = 3_600_000;

async function start() {
  const clock = new SkippingClock();
  const service = await new ScriptedService().start();
  cleanup.add(() => service.stop());
  service.time = () => clock.now();
  const dataDir = await tempDir(cleanup);
  const run = () => runAgent(cleanup, { service, dataDir, deps: { clock } });
  return { clock, service, dataDir, run };
}

/** Sends a request with this id. Resolves once it ended. */
async function delivered(service: ScriptedService, messageId: string): Promise<void> {
  const { requestId } = service.send({ messageId });
  await until(() => service.statuses.some((status) => status.requestId === requestId));
}

const textsTo = async (running: RunningAgent): Promise<number> =>
  (await running.messages()).filter(({ from }) => from === 'me').length;

async function hours(clock: SkippingClock, count: number): Promise<void> {
  for (let hour = 0; hour < count; hour++) {
    await clock.skip(HOUR);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function journalFinding(running: RunningAgent): Promise<string> {
  const lines: string[] = [];
  const output = createOutput(false, { write: (text) => lines.push(text) });
  const { dataDir, url, location } = running.config;
  const read = readSettings({ dataDir, url, location, simulate: true }, {});
  if (!read.ok) throw new Error(read.problems.join('; '));
  await doctor(read.value, output);
  return (
    lines
      .join('')
      .split('\n')
      .find((line) => line.includes('Journal')) ?? ''
  );
}

it.each(['says the time', 'does not say the time'])(
  'T67 an agent forgets no message while its clock is months ahead and the service %s',
  async (how) => {
    const { clock, service, run } = await start();
    const running = await run();
    await delivered(service, 'first');
    await running.play(person(ANNA, 'say'), { text: 'Hi' });
    await until(() => service.received.length === 1);
    const right = () => clock.now() - 200 * DAY;
    service.time = how === 'says the time' ? right : () => undefined;
    clock.step(200 * DAY);
    // Its entry has the wrong time.
    await delivered(service, 'second');
    await hours(clock, 2);
    await until(() => running.logs.some((line) => line.includes('"event":"clock.doubtful"')));
    expect(await journalFinding(running)).toContain('200 days ahead');
    const before = await textsTo(running);
    expect(before).toBe(2);
    await delivered(service, 'first');
    expect(await textsTo(running)).toBe(before);

    clock.step(-200 * DAY);
    service.time = () => clock.now();
    await hours(clock, 2);
    await until(() => running.logs.some((line) => line.includes('"event":"clock.agrees"')));
    expect(await journalFinding(running)).toContain('readable');
  },
);

it.each(['the service', 'a new message'])(
  'T67 an agent that was off for months forgets old messages once %s confirms its clock',
  async (who) => {
    const { clock, service, dataDir, run } = await start();
    const first = await run();
    await delivered(service, 'first');
    await first.agent.stop();
    clock.freeze(200 * DAY);
    service.time = () => undefined;
    const running = await run();
    await hours(clock, 2);
    const isKnown = () => {
      const journal = openAgentJournalAsIs(dataDir, { readOnly: true });
      const time = journal.jobs.lastDeliveredAt();
      journal.close();
      return time !== undefined && time < clock.now() - 100 * DAY;
    };
    expect(isKnown()).toBe(true);
    expect(await journalFinding(running)).toContain('200 days ahead');
    if (who === 'the service') service.time = () => clock.now();
    else {
      await running.play(person(ANNA, 'say'), { text: 'Hi' });
      await until(() => service.received.length === 1);
    }
    await until(async () => {
      await hours(clock, 1);
      return !isKnown();
    });
    expect(await journalFinding(running)).toContain('readable');
  },
);

it('T67 staged files are kept while the time is unknown', async () => {
  const folder = join(await tempDir(cleanup), 'staged');
  const old = join(folder, '00000000-0000-4000-8000-000000000000');
  await mkdir(old, { recursive: true });
  await utimes(old, 0, 0);
  const path = join(await tempDir(cleanup), 'note.txt');
  await writeFile(path, 'A note.');
  const file = { path, name: 'note.txt', mime: 'text/plain' };
  await stageFile(folder, file, undefined);
  expect(await readdir(folder)).toHaveLength(2);
  await stageFile(folder, file, Date.now());
  expect(await readdir(folder)).not.toContain('00000000-0000-4000-8000-000000000000');
});
