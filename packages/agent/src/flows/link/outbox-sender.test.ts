import { systemClock } from '@footbridge/runtime/clock';
import { noFailpoints } from '@footbridge/runtime/failpoints';
import { silentLog } from '@footbridge/testkit/silent-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openJournal } from '../../journal/journal-sqlite.ts';
import type { Journal } from '../../journal/journal.ts';
import { NO_SUSPECTS } from '../../suspects/no-suspects.fixture.ts';
import { OutboxSender } from './outbox-sender.ts';

let journal: Journal;
let sent: number[];
let isOpen: boolean;
let isSetAside: boolean;
let released: string[];

const RECEIVED = {
  type: 'message_received',
  guid: 'GUID-1',
  sender: '+15550100001',
  service: 'iMessage',
  text: 'a secret text',
  sentAt: '2026-01-01T00:00:00.000Z',
  chat: { id: 1, isGroup: false, recipients: ['+15550100001'] },
  attachments: [],
} as const;
let sender: OutboxSender;

beforeEach(() => {
  journal = openJournal(':memory:');
  sent = [];
  isOpen = true;
  isSetAside = false;
  released = [];
  sender = new OutboxSender({
    outbox: journal.outbox,
    clock: systemClock,
    log: silentLog,
    failpoint: noFailpoints,
    suspects: { ...NO_SUSPECTS, isSetAside: (name) => isSetAside && name.startsWith('inbound ') },
    onReleased: (guid) => void released.push(guid),
    session: { isOpen: () => isOpen, send: (text) => void sent.push(Number(JSON.parse(text).seq)) },
  });
});
afterEach(() => journal.close());

function put(requestId = 'request-1'): number {
  const frame = { type: 'message_status', requestId, messageId: null, status: 'delivered' } as const;
  return journal.outbox.put(frame, 1);
}

describe('OutboxSender', () => {
  it('sends nothing before the session is registered', () => {
    put();
    sender.flush();
    expect(sent).toEqual([]);
  });

  it('sends the oldest frames first, with at most a window of frames in flight', () => {
    const [first, second, third] = [put(), put(), put()];
    sender.open(2);
    expect(sent).toEqual([first, second]);
    sender.acknowledge({ type: 'ack', seq: first, outcome: 'delivered' });
    expect(sent).toEqual([first, second, third]);
    expect(journal.outbox.counts().unacknowledged).toBe(2);
  });

  it('sends nothing over a closed session', () => {
    put();
    isOpen = false;
    sender.open(2);
    expect(sent).toEqual([]);
    expect(journal.outbox.counts().unacknowledged).toBe(1);
  });

  it('keeps a rejected frame and sends it again with a new number on redeliver', () => {
    const seq = put();
    sender.open(2);
    sender.acknowledge({ type: 'ack', seq, outcome: 'rejected', reason: 'no such contact' });
    expect(journal.outbox.counts()).toMatchObject({ unacknowledged: 0, rejected: 1 });
    sender.redeliver(seq);
    expect(sent).toHaveLength(2);
    expect(sent[1]).toBeGreaterThan(seq);
  });

  it('sets aside a frame that is invalid and sends the next one', () => {
    put('');
    const valid = put();
    sender.open(2);
    expect(sent).toEqual([valid]);
    expect(journal.outbox.counts()).toMatchObject({ unacknowledged: 1, setAside: 1 });
  });

  it('I10 sends a frame without content for a message that crashed the agent twice', () => {
    isSetAside = true;
    const seq = journal.outbox.put(RECEIVED, 1);
    sender.open(2);
    const [stub, ...others] = journal.outbox.unacknowledged(0, 10).map(({ text }) => text);
    expect(others).toEqual([]);
    expect(JSON.parse(stub ?? '')).toMatchObject({ guid: RECEIVED.guid, sender: 'unknown', setAside: true });
    expect(stub).not.toContain(RECEIVED.text);
    expect(sent).toEqual([seq + 1]);
    sender.acknowledge({ type: 'ack', seq: seq + 1, outcome: 'rejected', reason: 'set aside' });
    sender.redeliver(seq + 1);
    expect(released).toEqual([RECEIVED.guid]);
    expect(journal.outbox.counts()).toMatchObject({ unacknowledged: 0, rejected: 0 });
  });

  it('sets aside the largest frame in flight', () => {
    put();
    const large = put('r'.repeat(64));
    sender.open(2);
    sender.setAsideLargest();
    expect(journal.outbox.counts()).toMatchObject({ unacknowledged: 1, setAside: 1 });
    expect(journal.outbox.redeliver(large, 2)).toBeDefined();
  });
});
