import { mkdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { openChatDb } from '@footbridge/simulator/chat-db';
import { until } from '@footbridge/testkit/until';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { status } from '@footbridge/agent/commands/status';
import { journalPath } from '@footbridge/agent/edges/data-dir';
import { ANNA, runAgent } from './running-agent.ts';
import type { RunningAgent } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

let macos: SimulatedMacos;
let clock: FakeClock;
let running: RunningAgent;
beforeEach(async () => {
  macos = await startSimulatedMacos();
  cleanup.add(() => macos.stop());
  clock = new FakeClock(Date.now());
  running = await runAgent(cleanup, {
    mac: { home: macos.home, programs: macos.commands },
    deps: { clock },
  });
  await shows('store', 'readable');
});

/** What `footbridge-agent status` prints. */
async function statusNow(): Promise<{ data: Record<string, unknown>; text: string }> {
  let shown: { data: Record<string, unknown>; text: string } | undefined;
  const result = (data: object, text: string): void => {
    shown = { data: { ...data }, text };
  };
  await status(running.config.dataDir, { result, progress: () => {}, warning: () => {}, problem: () => {} });
  if (shown === undefined) throw new Error('status printed nothing');
  return shown;
}

/** Lets the time of the agent pass until its status shows this. */
async function shows(field: string, state: string): Promise<void> {
  const isShown = async (): Promise<boolean> => {
    await clock.advance(500);
    return (await statusNow()).data[field] === state;
  };
  await until(isShown, { what: `${field} ${state}, not ${String((await statusNow()).data[field])}` });
}

/** A message of Anna arrives. */
async function arrives(text: string): Promise<void> {
  const { guid } = await macos.messages.write({ from: ANNA, text });
  await arrived(guid);
  expect(running.service.received.filter((frame) => frame.guid === guid)).toMatchObject([{ text }]);
}

async function arrived(guid: string): Promise<void> {
  await until(
    async () => {
      await clock.advance(500);
      return running.service.received.some((frame) => frame.guid === guid);
    },
    { what: `message ${guid}` },
  );
}

/** Puts something else in the place of the store. */
async function replaceBy(put: (path: string) => void): Promise<void> {
  await macos.messages.remove();
  put(macos.storePath);
}

describe('footbridge-agent status names the state of the store', () => {
  it.each<[state: string, text: string, put: (path: string) => void]>([
    ['absent', 'open Messages', () => {}],
    ['empty', 'sign in', (path) => writeFileSync(path, '')],
    ['corrupt', 'restart the Mac', (path) => writeFileSync(path, 'not a database '.repeat(1_000))],
    // Also the superuser, who may read every file of Linux, cannot open it.
    ['denied', 'Full Disk Access', (path) => mkdirSync(path)],
  ])('%s, and messages arrive when the store is readable again', async (state, text, put) => {
    await arrives('Before');
    await replaceBy(put);
    await shows('store', state);
    const shown = await statusNow();
    expect(shown.text).toContain(text);
    expect(shown.data).toMatchObject({ ableToText: false, missing: [expect.stringMatching(/\w/)] });
    if (state === 'denied') rmdirSync(macos.storePath);
    await macos.messages.rebuild();
    await shows('store', 'replaced');
    await arrives('After');
  });

  it('locked, while another program holds the lock for longer than the agent waits', async () => {
    const next = join(dirname(macos.storePath), 'next.db');
    const holder = openChatDb(next, 26);
    cleanup.add(() => holder.close());
    holder.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    await replaceBy((path) => renameSync(next, path));
    await shows('store', 'locked');
    holder.exec('ROLLBACK');
    await shows('store', 'replaced');
  });

  it.each(['rebuild', 'restore'] as const)('replaced after a %s', async (change) => {
    await macos.messages.backUp();
    await arrives('Before');
    await macos.messages[change]();
    await shows('store', 'replaced');
    await arrives('After');
    expect(running.service.received.map(({ text }) => text)).toEqual(['Before', 'After']);
  });

  it('readable, when macOS alters the tables while they are open', async () => {
    await arrives('Before');
    await macos.messages.alter({ sql: 'ALTER TABLE message ADD COLUMN added INTEGER DEFAULT 1' });
    await arrives('Between');
    await macos.messages.alter({ sql: 'ALTER TABLE message DROP COLUMN date_recovered' });
    await arrives('After');
    expect((await statusNow()).data['store']).toBe('readable');
  });
});

describe('a message with unusual content arrives', () => {
  it('from a group of 64', async () => {
    const members = Array.from({ length: 64 }, (_, index) => `+1555030${String(index).padStart(4, '0')}`);
    const { guid } = await macos.messages.write({
      from: members[7] ?? '',
      chat: { members, service: 'iMessage' },
      text: 'Many',
    });
    await arrived(guid);
    expect(running.service.received[0]?.chat.recipients).toEqual(members);
  });

  it('without an empty file, and without a file that is deleted before its upload', async () => {
    const attachment = { name: 'photo.jpg', mime: 'image/jpeg' };
    const empty = await macos.messages.write({
      from: ANNA,
      text: 'Empty',
      attachments: [{ ...attachment, base64: '' }],
    });
    await clock.advance(110_000);
    expect(running.service.received).toEqual([]);
    await arrived(empty.guid);
    // The token is asked for before the file is opened.
    running.service.assetRejections = [503];
    const gone = await macos.messages.write({
      from: ANNA,
      text: 'Gone',
      attachments: [{ ...attachment, base64: 'AAAA' }],
    });
    await until(
      async () => {
        await clock.advance(100);
        return running.logs.some((line) => line.includes('assets.upload_failed'));
      },
      { what: 'a failed upload' },
    );
    rmSync(join(macos.home, 'Library/Messages/Attachments'), { recursive: true });
    await arrived(gone.guid);
    expect(running.service.received.map(({ text, attachments }) => [text, attachments])).toEqual([
      ['Empty', []],
      ['Gone', []],
    ]);
  });

  it('after the clock was set back by a day', async () => {
    await arrives('Before');
    clock.advanceWallClock(-24 * 3600_000);
    await arrives('After');
    expect((await statusNow()).data['store']).toBe('readable');
  });
});

it('status names a full disk, and messages arrive once when there is space again', async () => {
  const journal = new DatabaseSync(journalPath(running.config.dataDir));
  cleanup.add(() => journal.close());
  const tables = ['pending_row', 'seen', 'outbox', 'note'];
  const events = ['INSERT', 'UPDATE'];
  const triggers = tables.flatMap((table) => events.map((event) => ({ table, event })));
  for (const { table, event } of triggers)
    journal.exec(
      `CREATE TRIGGER full_${table}_${event} BEFORE ${event} ON ${table}
       BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`,
    );
  const { guid } = await macos.messages.write({ from: ANNA, text: 'During' });
  await clock.advance(60_000);
  expect(await statusNow()).toMatchObject({
    data: { journal: 'not writable' },
    text: expect.stringContaining('free disk space'),
  });
  expect(running.service.received).toEqual([]);
  for (const { table, event } of triggers) journal.exec(`DROP TRIGGER full_${table}_${event}`);
  await arrived(guid);
  await arrives('After');
  expect((await statusNow()).data['journal']).toBe('writable');
  expect(running.service.received.map(({ text }) => text)).toEqual(['During', 'After']);
});
