import { describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { CANCELLED, failed, succeeded } from '../../platform/retry/retry.ts';
import type { Guids } from './guids-sql.ts';
import type { MessageTrail, Recorded, StepName } from '../journal/journal.ts';
import type { ConversationCalls } from './conversation-calls.ts';
import type { InboundCalls } from './inbound-calls.ts';
import {
  LOCATION,
  SETTINGS,
  advanceUntil,
  delivered,
  frame,
  lease,
  posted,
  setUp,
} from './deliver-inbound.fixture.ts';

const FORBIDDEN = failed('refused', { retryable: false, status: 403, reason: 'no access' });
const UNREADABLE: ConversationCalls = { find: async () => FORBIDDEN, messages: async () => FORBIDDEN };

/** The store takes a few turns of the event loop for each query. */
const tick = () => new Promise((resolve) => setTimeout(resolve, 5));

describe('an inbound message with an earlier attempt', () => {
  it.each([
    ['continues its journal entry', 'entry-1', 'entry-1'],
    ['continues the entry found by its guid when an earlier version claimed it', null, 'found-2'],
  ])('I6 sent again by the Mac %s', async (_, entryId, id) => {
    const recorded: unknown[] = [];
    const record = (entry: string, step: StepName, { code }: Recorded = {}) =>
      void recorded.push([entry, step, code]);
    const { inbound } = await setUp(
      async () => posted,
      {
        journal: {
          open: (entry, step) => record(entry.id, step),
          step: record,
          codeOf: async (entry) => (entry === id ? 'UNCERTAIN' : null),
          requestsOf: async () => [{ id: 'found-1' }, { id: 'found-2' }] as MessageTrail[],
        },
      },
      {},
      () => ({ claim: async () => ({ kind: 'sent', entryId }) }),
    );
    expect(await inbound.deliver(lease(), frame('g1'))).toEqual(delivered);
    expect(recorded).toEqual([
      [id, 'received', undefined],
      [id, 'acknowledged', 'UNCERTAIN'],
    ]);
  });

  it.each([
    ['is missing', async () => undefined],
    ['cannot be read', () => Promise.reject(new EngineError('sql', 'away'))],
  ])('I6 sent again by the Mac has a new journal entry if the first %s', async (_, codeOf) => {
    const ids = new Set<string>();
    const record = (id: string) => void ids.add(id);
    const { inbound } = await setUp(
      async () => posted,
      {
        journal: {
          open: ({ id }) => record(id),
          step: record,
          codeOf,
          requestsOf: async () => [],
        },
      },
      {},
      () => ({ claim: async () => ({ kind: 'sent', entryId: 'entry-1' }) }),
    );
    expect(await inbound.deliver(lease(), frame('g1'))).toEqual(delivered);
    expect([...ids]).toEqual([expect.not.stringMatching('entry-1')]);
  });

  it('I9 claimed by a process that has ended is posted after two reads did not find it', async () => {
    const keys: string[] = [];
    const { inbound, guids, steps, clock } = await setUp(
      async ({ idempotencyKey }) => (keys.push(idempotencyKey), posted),
    );
    await guids('gone').claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1');
    expect(await advanceUntil(clock, inbound.deliver(lease(), frame('g1')))).toEqual(delivered);
    expect(keys).toEqual([expect.stringMatching(/^[\da-f-]{36}$/)]);
    expect(steps.map(([, step]) => step)).toEqual(['received', 'looked_up', 'contact_found', 'crm_accepted']);
    expect(new Set(steps.map(([id]) => id))).toEqual(new Set(['entry-1']));
  });

  it('I9 a message is posted again and flagged when the conversation cannot be read', async () => {
    const { inbound, guids, steps, clock } = await setUp(async () => posted, { conversations: UNREADABLE });
    await guids('gone').claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1');
    expect(await advanceUntil(clock, inbound.deliver(lease(), frame('g1')))).toEqual(delivered);
    expect(steps.map(([, step]) => step)).toEqual(['received', 'uncertain', 'contact_found', 'crm_accepted']);
    expect(steps[1]?.[2]?.detail).toEqual({
      reason:
        'the conversation cannot be read: 403 no access; grant the scope conversations.readonly and install the app again',
      scope: 'conversations.readonly',
    });
  });

  it('I6 claimed by a node that may still be posting it waits for that node', async () => {
    let posts = 0;
    const { inbound, guids, clock } = await setUp(async () => (posts++, posted), { otherNodes: true });
    const other = guids('node-2');
    await other.claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1');
    await other.claim({ locationId: LOCATION, guid: 'g2' }, 'entry-2');
    const acks = [inbound.deliver(lease(), frame('g1', 1)), inbound.deliver(lease(), frame('g2', 2))];
    for (let passed = 0; passed < 5000; passed += 500) {
      await tick();
      await clock.advance(500);
    }
    expect(posts).toBe(0);
    await other.sent({ locationId: LOCATION, guid: 'g1' }, 'crm-of-node-2');
    expect(await advanceUntil(clock, Promise.all(acks))).toEqual([delivered, delivered]);
    expect(posts).toBe(1);
  });

  it('I9 a message is parked with INBOUND_ON_UNCERTAIN=park when the conversation cannot be read, and is posted when it is redelivered', async () => {
    let posts = 0;
    const { inbound, guids, clock } = await setUp(async () => (posts++, posted), {
      settings: { ...SETTINGS, onUncertain: 'park' },
      conversations: UNREADABLE,
    });
    await guids('gone').claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1');
    const deliver = () => advanceUntil(clock, inbound.deliver(lease(), frame('g1')));
    expect(await deliver()).toMatchObject({ outcome: 'rejected' });
    expect(posts).toBe(0);
    expect(await deliver()).toEqual(delivered);
    expect(posts).toBe(1);
  });

  it('I9 parked because the conversation could not be read is not posted again once a read finds it', async () => {
    let conversations = UNREADABLE;
    const { inbound, clock } = await setUp(async () => failed('timeout', { inDoubt: true }), {
      settings: { ...SETTINGS, onUncertain: 'park' },
      conversations: {
        find: (...given) => conversations.find(...given),
        messages: (...given) => conversations.messages(...given),
      },
    });
    const deliver = () => advanceUntil(clock, inbound.deliver(lease(), frame('g1')));
    expect(await deliver()).toMatchObject({ outcome: 'rejected' });
    const stored = {
      id: 'crm-9',
      isInbound: true,
      text: 'text of g1',
      attachments: [],
      addedAt: clock.now(),
    };
    conversations = {
      find: async () => succeeded(['v1']),
      messages: async () => succeeded({ messages: [stored], hasMore: false }),
    };
    expect(await deliver()).toEqual(delivered);
  });

  it('I9 claimed by a process that has ended is searched for at every contact with this handle', async () => {
    const read: string[] = [];
    const { inbound, guids, clock } = await setUp(
      () => expect.unreachable(),
      {
        conversations: {
          find: async (_location, contactId) => (read.push(contactId), succeeded([`of ${contactId}`])),
          messages: async (_location, conversationId) => {
            const stored = { id: 'crm-9', isInbound: true, text: 'text of g1', attachments: [] };
            const messages = conversationId === 'of second' ? [{ ...stored, addedAt: clock.now() }] : [];
            return succeeded({ messages, hasMore: false });
          },
        },
      },
      { find: async () => succeeded('first'), findAll: async () => succeeded(['first', 'second']) },
    );
    await guids('gone').claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1');
    expect(await advanceUntil(clock, inbound.deliver(lease(), frame('g1')))).toEqual(delivered);
    expect(read).toEqual(['first', 'second']);
  });

  it('I9 released before it was posted is claimed again without a read', async () => {
    const { inbound, epoch, guids } = await setUp(async () => CANCELLED, {
      conversations: { find: () => expect.unreachable(), messages: () => expect.unreachable() },
    });
    expect(await inbound.deliver(lease(1), frame('g1'))).toBe('retry');
    epoch.value = 2;
    expect(await guids('another').claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1')).toMatchObject({
      kind: 'claimed',
      uncertain: false,
    });
  });

  it('I9 released after its response was lost stays uncertain', async () => {
    const { inbound, epoch, guids } = await setUp(async () => {
      epoch.value = 2;
      return failed('timeout', { inDoubt: true });
    });
    expect(await inbound.deliver(lease(1), frame('g1'))).toBe('retry');
    expect(await guids('another').claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1')).toMatchObject({
      kind: 'claimed',
      uncertain: true,
    });
  });

  it.each([
    ['I6 accepted by the CRM', posted, delivered],
    ['I9 with a lost response', failed('timeout', { inDoubt: true }), 'retry'],
  ] as const)(
    '%s is not posted again by the same process when its claim could be neither marked nor released',
    async (_what, result, outcome) => {
      const texts: string[] = [];
      let isAway = false;
      const unlessAway = <T>(call: () => Promise<T>) =>
        isAway ? Promise.reject(new EngineError('sql', 'away')) : call();
      const failing = (guids: Guids) => ({
        claim: (...args: Parameters<Guids['claim']>) => unlessAway(() => guids.claim(...args)),
        sent: (...args: Parameters<Guids['sent']>) => unlessAway(() => guids.sent(...args)),
        released: (...args: Parameters<Guids['released']>) => unlessAway(() => guids.released(...args)),
      });
      const conversations: ConversationCalls = {
        find: async () => succeeded(['conversation-1']),
        messages: async () =>
          succeeded({
            messages: texts.map((text, index) => ({
              id: `crm-${index}`,
              isInbound: true,
              text,
              attachments: [],
              addedAt: clock.now(),
            })),
            hasMore: false,
          }),
      };
      const post: InboundCalls['post'] = async ({ message }) => {
        texts.push(message);
        // The store and the Mac are lost together with the CRM.
        isAway = true;
        epoch.value = 2;
        return result;
      };
      const { inbound, clock, epoch } = await setUp(post, { conversations }, {}, failing);
      expect(await advanceUntil(clock, inbound.deliver(lease(1), frame('g1')))).toEqual(outcome);
      isAway = false;
      expect(await advanceUntil(clock, inbound.deliver(lease(2), frame('g1')))).toEqual(delivered);
      expect(texts).toEqual(['text of g1']);
    },
  );
});
