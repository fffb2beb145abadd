import { join } from 'node:path';

import { parseMacFrame, writeFrame } from '@footbridge/protocol/frames';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { sendFrame } from '@footbridge/testkit/send-frame';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openJournal } from '../../journal/journal-sqlite.ts';
import type { Journal } from '../../journal/journal.ts';
import type { EnvironmentReport, StoreState } from '../../ports/messages/messages.ts';
import { readMacState } from './mac-state.ts';

const cleanup = createCleanup();
let journal: Journal;
beforeEach(async () => {
  journal = openJournal(join(await tempDir(cleanup), 'journal.db'));
  cleanup.add(() => journal.close());
});
afterEach(() => cleanup.run());

const NOW = Date.UTC(2026, 4, 1, 12);

function read(report?: EnvironmentReport, store: StoreState = 'readable') {
  const messages = {
    store: { state: () => store },
    environment: () => ({
      macos: '26.1',
      automation: true,
      accessibility: true,
      ...(report !== undefined && { report }),
    }),
    capabilities: () => ['text'],
  };
  const frame = readMacState(messages, journal, NOW);
  expect(parseMacFrame(writeFrame(frame))).toEqual({ kind: 'frame', frame });
  return frame;
}

describe('the state of the Mac', () => {
  it('has unknown, or no field, for what the engine does not know', () => {
    expect(read()).toEqual({
      type: 'state',
      capabilities: ['text'],
      macos: { version: '26.1' },
      permissions: { fullDisk: 'granted', automation: 'unknown', accessibility: 'unknown' },
      messages: {},
      queue: { pending: 0, oldestSec: 0 },
      lastSentAt: null,
      lastReceivedAt: null,
    });
  });

  it('contains what the engine knows', () => {
    const known = {
      build: '25B78',
      permissions: { automation: 'denied', accessibility: 'granted' },
      messages: { running: true, signedIn: true, services: ['iMessage'] },
      session: 'locked',
    } as const;
    expect(read(known)).toMatchObject({
      macos: { version: '26.1', build: '25B78' },
      permissions: { fullDisk: 'granted', automation: 'denied', accessibility: 'granted' },
      messages: known.messages,
      session: 'locked',
    });
  });

  it.each([
    ['readable', 'granted'],
    ['replaced', 'granted'],
    ['locked', 'granted'],
    ['denied', 'denied'],
    ['absent', 'unknown'],
  ] as const)('derives Full Disk Access from a store that is %s: %s', (store, fullDisk) => {
    expect(read({}, store).permissions).toMatchObject({ fullDisk });
  });

  it.each(['absent', 'corrupt', 'locked'] as const)('says that the store is %s', (store) => {
    expect(read({ messages: { running: true } }, store).messages).toEqual({ running: true, store });
  });

  it('says that Messages is not signed in when the store is empty', () => {
    expect(read({ messages: { running: true } }, 'empty').messages).toEqual({
      running: true,
      signedIn: false,
    });
  });

  it('contains the queue and the times of the last messages', () => {
    journal.jobs.enqueue('a', 'print', sendFrame(), NOW - 90_000);
    journal.jobs.end('a', { state: 'delivered', guid: 'G' }, NOW - 60_000);
    for (const [key, age] of [
      ['b', 40_500],
      ['c', 1_000],
    ] as const)
      journal.jobs.enqueue(key, 'print', sendFrame({ messageId: key }), NOW - age);
    journal.inbox.markSeen('G2', NOW - 30_000);
    expect(read()).toMatchObject({
      queue: { pending: 2, oldestSec: 40 },
      lastSentAt: '2026-05-01T11:59:00.000Z',
      lastReceivedAt: '2026-05-01T11:59:30.000Z',
    });
  });
});
