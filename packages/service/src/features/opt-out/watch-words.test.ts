import type { AckOutcome, MessageReceivedFrame } from '@footbridge/protocol/frames';
import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { failed, succeeded } from '../../platform/retry/retry.ts';
import type { Lease } from '../../relay/switchboard/switchboard.ts';
import { watchWords } from './watch-words.ts';
import type { Deliver } from '../../relay/inbound/gate.ts';
import type { WatchWordsDeps } from './watch-words.ts';

const LOCATION = asLocationId('loc1') as LocationId;
const lease = (epoch = 1): Lease => ({ locationId: LOCATION, deviceId: 'd', sessionId: `s${epoch}`, epoch });
const DELIVERED: AckOutcome = { outcome: 'delivered' };

const frame = (text: string, chat = 1): MessageReceivedFrame => ({
  type: 'message_received',
  seq: 1,
  guid: `guid of ${text}`,
  sender: '+14155550100',
  service: 'iMessage',
  text,
  sentAt: '2026-01-01T00:00:00Z',
  chat: { id: chat, isGroup: false, recipients: [] },
  attachments: [],
});

function setUp(given: {
  deliver?: Deliver;
  set?: () => Promise<void>;
  updateContact?: WatchWordsDeps['updateContact'];
}) {
  const clock = new FakeClock();
  const delivered: string[] = [];
  const deliver = watchWords(
    (one, message) => {
      delivered.push(`${message.text} ${one.epoch}`);
      return given.deliver?.(one, message) ?? Promise.resolve(DELIVERED);
    },
    {
      suppressions: { set: given.set ?? (async () => {}) },
      phones: { recorded: (sender) => (sender === '4155550100' ? '+14155550100' : sender) },
      updateContact: given.updateContact ?? (async () => succeeded('updated')),
      clock,
      log: silentLog,
    },
  );
  return { clock, delivered, deliver };
}

describe('opt-out words', () => {
  it('I5 are not overtaken by later messages of the chat while they are recorded', async () => {
    const { promise: recorded, resolve: record } = Promise.withResolvers<void>();
    const { deliver, delivered } = setUp({ set: () => recorded });
    const acks = [deliver(lease(), frame('STOP')), deliver(lease(), frame('I mean it'))];
    await deliver(lease(), frame('Hello', 2));
    expect(delivered).toEqual(['Hello 1']);
    record();
    expect(await Promise.all(acks)).toEqual([DELIVERED, DELIVERED]);
    expect(delivered).toEqual(['Hello 1', 'STOP 1', 'I mean it 1']);
  });

  it('I5 are not overtaken by later messages of the chat when they cannot be recorded', async () => {
    const { deliver, delivered } = setUp({ set: () => Promise.reject(new EngineError('sql', 'away')) });
    const acks = await Promise.all([deliver(lease(), frame('STOP')), deliver(lease(), frame('I mean it'))]);
    expect(acks).toEqual(['retry', 'retry']);
    expect(delivered).toEqual([]);
  });

  it('I5 do not hold up what a reconnected Mac resends while they are being delivered', async () => {
    const { promise: posted, resolve: post } = Promise.withResolvers<AckOutcome>();
    const { deliver, delivered } = setUp({ deliver: () => posted });
    const acks = [1, 2].flatMap((epoch) => [
      deliver(lease(epoch), frame('STOP')),
      deliver(lease(epoch), frame('I mean it')),
    ]);
    await until(() => delivered.length === 4);
    expect(delivered).toEqual(['STOP 1', 'I mean it 1', 'STOP 2', 'I mean it 2']);
    post(DELIVERED);
    expect(await Promise.all(acks)).toEqual([DELIVERED, DELIVERED, DELIVERED, DELIVERED]);
  });

  it.each([
    ['chat', frame('STOP')],
    ['chat in which the number has no country code', { ...frame('STOP', 2), sender: '4155550100' }],
  ])(
    'E4 change do not disturb in the CRM in the order in which they were sent, in a %s',
    async (_chat, stop) => {
      const calls: boolean[] = [];
      const { clock, deliver } = setUp({
        async updateContact(_operation, _locationId, _handle, fields) {
          calls.push(JSON.stringify(fields).includes('"active"'));
          return calls.length === 1 ? failed('http', { status: 503 }) : succeeded('updated');
        },
      });
      await deliver(lease(), frame('START'));
      await deliver(lease(), stop);
      await until(async () => {
        await clock.advance(5000);
        return calls.length === 3;
      });
      expect(calls).toEqual([false, false, true]);
    },
  );
});
