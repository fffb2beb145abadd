import { expect, it } from 'vitest';

import { compareInbound } from './inbound-report.ts';
import { runInbound } from './inbound-run.ts';

it('I6 kills, sleeps, rotations and a rebuilt store lose, double, alter and reorder no inbound message', async () => {
  const report = await runInbound({
    rows: 200,
    rotations: 8,
    rebuilds: 1,
    sleeps: 2,
    kills: 2,
    rate: 40,
    maxDelayMs: 1_500,
    macos: 26,
    seed: 7,
  });
  expect(report).toEqual({
    rows: 200,
    lost: [],
    doubled: [],
    disordered: [],
    altered: [],
    unexpected: [],
    latency: expect.any(Object),
    elapsed: expect.any(Object),
  });
});

it('the comparison names every kind of difference', () => {
  const report = compareInbound({
    expected: ['A', 'B', 'C', 'D'].map((guid) => ({
      guid,
      chat: 'one',
      members: ['Anna'],
      sender: 'Anna',
      text: guid,
      files: 0,
    })),
    stored: new Map([
      ['A', { at: 1_000, joinedAt: 1_000 }],
      ['B', { at: 1_500, joinedAt: 1_500 }],
      ['C', { at: 1_200, joinedAt: 1_200 }],
      ['D', { at: 2_000, joinedAt: 2_000 }],
    ]),
    outages: [{ from: 1_400, to: 1_900 }],
    received: [
      frame('B', 1, 'B'),
      frame('A', 2, 'changed'),
      frame('C', 3, 'C'),
      frame('C', 4, 'C'),
      frame('E', 5, 'E'),
    ],
    receivedAt: [1_950, 1_960, 2_100, 2_200, 2_300],
  });
  expect(report).toEqual({
    rows: 4,
    lost: ['D'],
    doubled: ['C'],
    disordered: ['1 before 0 of one'],
    altered: ['A'],
    unexpected: ['E'],
    latency: { p50: 200, p95: 460, max: Infinity },
    elapsed: { p50: 900, p95: 960, max: Infinity },
  });
});

it('the latency excludes overlapping outages, and the time until the chat of an earlier message is known', () => {
  const message = (guid: string, chat: string, sender: string, members: readonly string[]) => ({
    guid,
    chat,
    sender,
    members,
    text: '',
    files: 0,
  });
  const { latency, elapsed } = compareInbound({
    expected: [message('A', 'group', 'Anna', ['Anna', 'Bert']), message('B', 'anna', 'Anna', ['Anna'])],
    stored: new Map([
      ['A', { at: 9_000, joinedAt: 2_000 }],
      ['B', { at: 1_000, joinedAt: 1_000 }],
    ]),
    outages: [
      { from: 2_500, to: 3_000 },
      { from: 2_200, to: 2_600 },
    ],
    received: [frame('B', 1, ''), frame('A', 2, '')],
    receivedAt: [3_100, 9_100],
  });
  expect(latency).toEqual({ p50: 100, p95: 100, max: 300 });
  expect(elapsed).toEqual({ p50: 100, p95: 100, max: 2_100 });
});

const frame = (guid: string, seq: number, text: string) => ({
  type: 'message_received' as const,
  guid,
  seq,
  sender: '+15550100001',
  service: 'iMessage' as const,
  text,
  sentAt: '2026-11-15T00:00:00.000Z',
  chat: { id: 1, isGroup: false, recipients: ['+15550100001'] },
  attachments: [],
});
