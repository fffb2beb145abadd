import { expect, it } from 'vitest';

import { compareInbound } from './inbound-report.ts';
import { runInbound } from './inbound-run.ts';

it('I6 over kills, sleeps, rotations and a rebuilt store no inbound message is lost, doubled, altered or out of order', async () => {
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
  });
});

it('the comparison names every kind of difference', () => {
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
  const report = compareInbound({
    expected: ['A', 'B', 'C', 'D'].map((guid) => ({ guid, chat: 'one', text: guid, files: 0 })),
    completedAt: new Map([
      ['A', 1_000],
      ['B', 1_500],
      ['C', 1_200],
      ['D', 2_000],
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
    latency: { p50: 200, p95: 960, max: Infinity },
  });
});
