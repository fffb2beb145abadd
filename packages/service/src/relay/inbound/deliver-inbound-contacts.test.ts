import { describe, expect, it } from 'vitest';

import { CANCELLED, failed, succeeded } from '../../platform/retry/retry.ts';
import { LOCATION, advanceUntil, delivered, frame, lease, posted, setUp } from './deliver-inbound.fixture.ts';

describe('the contact of a sender', () => {
  it('I2 a contact is searched once per handle and hour, whatever the case of an address', async () => {
    const asked: string[] = [];
    const { inbound, clock } = await setUp(
      async () => posted,
      {},
      {
        find: async (_location, handle) => {
          asked.push(handle);
          return succeeded('c');
        },
      },
    );
    for (const [guid, sender] of [
      ['g1', 'Jo@Example.com'],
      ['g2', 'jo@example.com'],
      ['g3', '+14155550100'],
    ] as const)
      await inbound.deliver(lease(), frame(guid, 1, { sender }));
    expect(asked).toEqual(['Jo@Example.com', '+14155550100']);
    await clock.advance(3_600_001);
    await inbound.deliver(lease(), frame('g4'));
    expect(asked).toHaveLength(3);
  });

  it('I2 a sender whose name differs only in spaces or punctuation has another contact', async () => {
    const used: string[] = [];
    const { inbound } = await setUp(
      async ({ contactId }) => {
        used.push(contactId);
        return posted;
      },
      {},
      { find: async (_location, handle) => succeeded(`contact of ${handle}`) },
    );
    const senders = ['T-Rex', 'TREX', 'TRex', 'T Rex', '(415) 555-0100', '4155550100'];
    for (const sender of senders) await inbound.deliver(lease(), frame(sender, 1, { sender }));
    const named = senders.slice(0, 4).map((sender) => `contact of ${sender}`);
    expect(used).toEqual([...named, 'contact of (415) 555-0100', 'contact of (415) 555-0100']);
  });

  it('I2 a contact is created when the search rejects the form of the handle', async () => {
    const { inbound } = await setUp(
      async () => posted,
      {},
      {
        find: async () =>
          failed('refused', { retryable: false, status: 422, reason: 'number must be valid' }),
      },
    );
    expect(await inbound.deliver(lease(), frame('g1', 1, { sender: '72345' }))).toEqual(delivered);
  });

  it('I2 a contact is searched again when the CRM rejects the cached one', async () => {
    const tried: string[] = [];
    const known = { found: 'stale', accepted: 'stale' };
    const { inbound } = await setUp(
      async ({ contactId }) => {
        tried.push(contactId);
        return contactId === known.accepted
          ? posted
          : failed('refused', { retryable: false, status: 400, reason: 'no such contact' });
      },
      {},
      { find: async () => succeeded(known.found) },
    );
    await inbound.deliver(lease(), frame('g1'));
    known.found = known.accepted = 'fresh';
    expect(await inbound.deliver(lease(), frame('g2'))).toEqual(delivered);
    expect(tried).toEqual(['stale', 'stale', 'fresh']);
    known.accepted = 'none';
    expect(await inbound.deliver(lease(), frame('g3'))).toMatchObject({ outcome: 'rejected' });
    expect(tried).toEqual(['stale', 'stale', 'fresh', 'fresh']);
  });

  it.each([
    ['the list has it', succeeded(['found', 'preferred']), 'preferred'],
    ['the list does not have it', succeeded(['found']), 'found'],
    ['the list cannot be read', failed('refused', { retryable: false, status: 403 }), 'found'],
    ['the list is not usable', failed('empty', { status: 200 }), 'found'],
  ])(
    'I2 the preferred contact is used only if the list of contacts has it: %s',
    async (_case, listed, expected) => {
      const used: string[] = [];
      let reads = 0;
      const { inbound, clock } = await setUp(
        async ({ contactId }) => (used.push(contactId), posted),
        {},
        {
          find: async () => succeeded('found'),
          findAll: async () => (reads++ === 0 ? listed : succeeded([])),
        },
      );
      inbound.contacts.prefer(LOCATION, '+14155550100', 'preferred');
      expect(await advanceUntil(clock, inbound.deliver(lease(), frame('g1')))).toEqual(delivered);
      expect([used, reads]).toEqual([[expected], 1]);
    },
  );

  it('I2 a contact is created without upsert where the CRM has none, and not at all after another rejection', async () => {
    for (const [status, ack, creations] of [
      [404, delivered, 1],
      [405, delivered, 1],
      [422, { outcome: 'rejected', reason: 'the CRM refused: 422 no' }, 0],
    ] as const) {
      let created = 0;
      const { inbound } = await setUp(
        async () => posted,
        {},
        {
          find: async () => succeeded(undefined),
          upsert: async () => failed('refused', { retryable: false, status, reason: 'no' }),
          create: async () => (created++, succeeded('c')),
        },
      );
      expect(await inbound.deliver(lease(), frame('g1'))).toEqual(ack);
      expect(created).toBe(creations);
    }
  });

  it('I2 a contact is not created after a search that the CRM forbids', async () => {
    const { inbound } = await setUp(
      async () => posted,
      {},
      {
        find: async () => failed('refused', { retryable: false, status: 403, reason: 'no access' }),
        upsert: () => expect.unreachable(),
      },
    );
    expect(await inbound.deliver(lease(), frame('g1'))).toMatchObject({ outcome: 'rejected' });
  });

  it('I2 a contact is searched again by the next message when the first one was cancelled', async () => {
    let searches = 0;
    const { inbound, epoch } = await setUp(
      async () => posted,
      {},
      { find: async () => (searches++ === 0 ? CANCELLED : succeeded('c')) },
    );
    const acks = [inbound.deliver(lease(), frame('g1', 1)), inbound.deliver(lease(), frame('g2', 2))];
    expect((await Promise.all(acks)).filter((ack) => ack !== 'retry')).toEqual([delivered]);
    expect([searches, epoch.value]).toEqual([2, 1]);
  });
});
