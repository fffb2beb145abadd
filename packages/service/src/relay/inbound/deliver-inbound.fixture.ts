import type { MessageReceivedFrame } from '@footbridge/protocol/frames';
import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { until } from '@footbridge/testkit/until';
import { onTestFinished } from 'vitest';

import { failed, succeeded } from '../../platform/retry/retry.ts';
import { Guids } from './guids-sql.ts';
import type { Recorded, StepName } from '../journal/journal.ts';
import type { Lease } from '../switchboard/switchboard.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import type { ConversationCalls } from './conversation-calls.ts';
import type { InboundCalls } from './inbound-calls.ts';
import type { ContactCalls } from '../crm/contact-calls.ts';
import { createInbound } from './deliver-inbound.ts';
import type { Inbound, InboundDeps } from './deliver-inbound.ts';

export const LOCATION = asLocationId('loc1') as LocationId;
export const lease = (epoch = 1): Lease => ({
  locationId: LOCATION,
  deviceId: 'd',
  sessionId: `s${epoch}`,
  epoch,
});
export const HTTP = failed('http', { status: 500, reason: 'oops' });
export const posted = succeeded('crm-1');
export const delivered = { outcome: 'delivered' };

export const frame = (
  guid: string,
  chat = 1,
  more: Partial<MessageReceivedFrame> = {},
): MessageReceivedFrame => ({
  type: 'message_received',
  seq: 1,
  guid,
  sender: '+14155550100',
  service: 'iMessage',
  text: `text of ${guid}`,
  sentAt: '2026-01-01T00:00:00Z',
  chat: { id: chat, isGroup: false, recipients: [] },
  attachments: [],
  ...more,
});

export const SETTINGS: InboundDeps['settings'] = {
  createContacts: true,
  footerOnPlainText: false,
  onUncertain: 'retry',
  mirrorSent: false,
  settleMs: 20_000,
  readLagMs: 10_000,
};

export const NO_SUSPECTS: InboundDeps['suspects'] = {
  setAside: async () => {},
  handle: (_message, work) => work(),
  workOn: () => {},
};

const EMPTY: ConversationCalls = {
  find: async () => succeeded([]),
  messages: async () => succeeded({ messages: [], hasMore: false }),
};

interface SetUp {
  inbound: Inbound;
  clock: FakeClock;
  guids: (owner: string) => Guids;
  steps: [string, StepName, Recorded | undefined][];
  epoch: { value: number };
}

export async function setUp(
  post: InboundCalls['post'],
  more: Partial<InboundDeps> = {},
  contacts: Partial<ContactCalls> = {},
  /** Replaces calls of the store that this process uses. Gets another store of the same process. */
  replaced: (guids: Guids) => Partial<InboundDeps['guids']> = () => ({}),
): Promise<SetUp> {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  onTestFinished(() => database.close());
  const clock = new FakeClock();
  const steps: SetUp['steps'] = [];
  const epoch = { value: 1 };
  const guids = (owner: string) => new Guids({ database, clock, owner });
  const found = async () => succeeded('contact-1');
  const inbound = createInbound({
    guids: Object.assign(guids('me'), replaced(guids('me'))),
    suspects: NO_SUSPECTS,
    calls: { post },
    contacts: { find: found, findAll: async () => succeeded([]), upsert: found, create: found, ...contacts },
    journal: {
      open: (entry, step, recorded) => void steps.push([entry.id, step, recorded]),
      step: (id, step, recorded) => void steps.push([id, step, recorded]),
      codeOf: async () => undefined,
      requestsOf: async () => [],
    },
    isCurrent: (one) => one.epoch === epoch.value,
    conversations: EMPTY,
    settings: SETTINGS,
    clock,
    log: silentLog,
    failpoint: undefined,
    otherNodes: false,
    phones: { recorded: (sender) => sender },
    ...more,
  });
  return { inbound, clock, guids, steps, epoch };
}

/** Advances the clock until the promise is settled. */
export async function advanceUntil<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  void promise.finally(() => (isSettled = true));
  await until(async () => {
    await clock.advance(500);
    return isSettled;
  });
  return promise;
}
