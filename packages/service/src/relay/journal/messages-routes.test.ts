import { newRequestId } from '@footbridge/protocol/ids';
import { silentLog } from '@footbridge/testkit/silent-log';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import fastify from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';

import { Slot } from '../../platform/extension-points.ts';
import { NO_TEXTS } from './texts.ts';
import { createPhones } from '../people/handles.ts';
import type { AuditRecord } from '../../platform/operator/audit-sql.ts';
import { createJournal } from './journal-sql.ts';
import type { NewEntry } from './journal.ts';
import type { MessageName } from '../../platform/suspects/suspects.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import { renderError } from '../../platform/http/render-error.ts';
import { asOperator } from '../../platform/operator/testing/as-operator.ts';
import { messagesRoutes } from './messages-routes.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start(
  redelivered: 'written' | 'not_connected' = 'written',
  locations: ReadonlySet<string> | null = null,
) {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  cleanup.add(() => database.close());
  const queries: unknown[] = [];
  const db = database.db.withPlugin({
    transformQuery: ({ node }) => (queries.push(node), node),
    transformResult: async ({ result }) => result,
  });
  const clock = new FakeClock();
  const journal = createJournal({
    database: { ...database, db },
    clock,
    log: silentLog,
    handleKeys: [Buffer.alloc(32, 1)],
  });
  cleanup.add(() => journal.close());
  const asked: [string, { seq: number; messageId?: string }][] = [];
  const audit: AuditRecord[] = [];
  const app = fastify({ routerOptions: { maxParamLength: 1024 } });
  cleanup.add(() => app.close());
  app.setErrorHandler(renderError(silentLog));
  asOperator(app, locations);
  const released: MessageName[] = [];
  messagesRoutes({
    journal,
    suspects: {
      release: async (message) => released.push(message) > 0,
      setAside: async (message) => void released.splice(released.indexOf(message), 1),
    },
    redeliver: async (locationId, what) => {
      asked.push([locationId, what]);
      return redelivered;
    },
    texts: new Slot('texts', NO_TEXTS),
    audit: { record: async (entry) => void audit.push(entry) },
    phones: createPhones('US'),
  })(app);
  const call = async (method: 'GET' | 'POST', url: string) => {
    const answer = await app.inject({ method, url });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  };
  return { journal, clock, queries, asked, audit, released, call };
}

const entry = (more: Partial<NewEntry> = {}): NewEntry => ({
  id: newRequestId(),
  direction: 'outbound',
  locationId: 'loc1',
  messageId: 'msg1',
  kind: 'text',
  handle: '+15555550100',
  contactId: null,
  length: 5,
  ...more,
});

describe('GET /operator/messages', () => {
  it('lists newest first, page by page, with ISO times and masked numbers', async () => {
    const { journal, clock, call } = await start();
    for (let index = 0; index < 3; index++) {
      journal.open(entry({ messageId: `m${index}` }), 'accepted');
      await clock.advance(1000);
    }
    const first = await call('GET', '/operator/messages?limit=2');
    expect(first.body['messages']).toMatchObject([
      {
        messageId: 'm2',
        status: 'accepted',
        code: null,
        phone: '+1•••0100',
        createdAt: '2026-01-01T00:00:02.000Z',
      },
      { messageId: 'm1' },
    ]);
    const next = await call('GET', `/operator/messages?limit=2&cursor=${String(first.body['cursor'])}`);
    expect(next.body).toMatchObject({ messages: [{ messageId: 'm0' }], cursor: null });
  });

  it('filters by location, status and direction', async () => {
    const { journal, call } = await start();
    journal.open(entry({ locationId: 'loc2' }), 'accepted');
    journal.open(entry(), 'rejected', { state: 'rejected', code: 'RECIPIENT_PHONE_INVALID' });
    journal.open(entry({ direction: 'inbound', id: 'in1' }), 'received');
    const count = async (query: string) =>
      ((await call('GET', `/operator/messages?${query}`)).body['messages'] as unknown[]).length;
    expect(await count('locationId=loc2')).toBe(1);
    expect(await count('status=rejected')).toBe(1);
    expect(await count('direction=inbound')).toBe(1);
    expect(await count('phone=%2B15555550100')).toBe(3);
    expect(await count('phone=%2B15555550199')).toBe(0);
    expect(await count('contactId=other')).toBe(0);
    expect(await count('code=RECIPIENT_PHONE_INVALID')).toBe(1);
    expect(await count('from=2027-01-01T00:00:00Z')).toBe(0);
    expect(await count('until=2027-01-01T00:00:00Z')).toBe(3);
    expect(await count('')).toBe(3);
    expect(await count('locationId=&status=&direction=&cursor=&limit=')).toBe(3);
    expect(await count('locationId=loc2&status=')).toBe(1);
  });

  it('finds messages by a number in E.164 and as the Mac reported it, without the country code', async () => {
    const { journal, call } = await start();
    journal.open(entry({ id: 'reported', direction: 'inbound', handle: '4155550100' }), 'received');
    journal.open(entry({ id: 'complete', handle: '+14155550100' }), 'accepted');
    journal.open(entry({ id: 'short', direction: 'inbound', handle: '72345' }), 'received');
    const found = async (phone: string) => {
      const { body } = await call('GET', `/operator/messages?phone=${encodeURIComponent(phone)}`);
      return (body['messages'] as { id: string }[]).map(({ id }) => id).toSorted();
    };
    expect(await found('4155550100')).toEqual(['complete', 'reported']);
    expect(await found('(415) 555-0100')).toEqual(['complete', 'reported']);
    expect(await found('+14155550100')).toEqual(['complete', 'reported']);
    expect(await found('72345')).toEqual(['short']);
  });

  it.each(['limit=0', 'limit=201', 'limit=x', 'direction=up', 'unknown=1', 'locationId=a&locationId=b'])(
    'rejects ?%s with the name of the field',
    async (query) => {
      const { call } = await start();
      const { status, body } = await call('GET', `/operator/messages?${query}`);
      expect(status).toBe(400);
      expect(body).toMatchObject({ code: 'INVALID_REQUEST', message: expect.any(String) });
    },
  );
});

describe('GET /operator/messages/:id', () => {
  it('finds a message of an accessible location although another one has the same GUID later', async () => {
    const { journal, clock, call } = await start('written', new Set(['loc1']));
    const inGroup = { direction: 'inbound', messageId: 'guid-1' } as const;
    journal.open(entry({ ...inGroup, id: 'own', locationId: 'loc1' }), 'received');
    await clock.advance(1);
    journal.open(entry({ ...inGroup, id: 'foreign', locationId: 'loc2' }), 'received');
    journal.open(entry({ ...inGroup, id: 'other', locationId: 'loc2', messageId: 'guid-2' }), 'received');
    expect((await call('GET', '/operator/messages/guid-1')).body).toMatchObject({ id: 'own' });
    for (const id of ['foreign', 'guid-2'])
      expect((await call('GET', `/operator/messages/${id}`)).status).toBe(404);
  });

  it('takes a few queries, however many locations a token covers', async () => {
    const locations = Array.from({ length: 1000 }, (_, index) => `loc${index}`);
    const { journal, clock, queries, call } = await start('written', new Set(locations));
    const inGroup = { direction: 'inbound', messageId: 'guid-1' } as const;
    journal.open(entry({ ...inGroup, id: 'own', locationId: 'loc999' }), 'received');
    await clock.advance(1);
    journal.open(entry({ ...inGroup, id: 'foreign', locationId: 'elsewhere' }), 'received');
    await journal.flush();
    queries.length = 0;
    expect((await call('GET', '/operator/messages/guid-1')).body).toMatchObject({ id: 'own' });
    expect((await call('GET', '/operator/messages/foreign')).status).toBe(404);
    expect(queries.length).toBeLessThan(12);
  });

  it('returns the steps by request id and by the message id of the CRM', async () => {
    const { journal, call } = await start();
    const one = entry();
    journal.open(one, 'accepted');
    journal.step(one.id, 'mac_reported', { state: 'failed', code: 'TIMEOUT', detail: { status: 'failed' } });
    for (const id of [one.id, 'msg1'])
      expect((await call('GET', `/operator/messages/${id}`)).body).toMatchObject({
        id: one.id,
        status: 'failed',
        code: 'TIMEOUT',
        steps: [
          { step: 'accepted', detail: null, at: expect.stringMatching(/Z$/) },
          { step: 'mac_reported', detail: { status: 'failed', code: 'TIMEOUT' } },
        ],
      });
  });

  it('returns every request with the message id of the CRM, oldest first', async () => {
    const { journal, clock, call } = await start();
    const [first, second] = [entry(), entry()];
    journal.open(first, 'accepted');
    journal.step(first.id, 'mac_reported', { state: 'delivered', detail: { status: 'delivered' } });
    await clock.advance(1000);
    journal.open(second, 'rejected', { state: 'rejected', code: 'LOCATION_NOT_CONNECTED' });
    expect((await call('GET', '/operator/messages/msg1')).body).toMatchObject({
      id: second.id,
      requests: [
        { id: first.id, status: 'delivered', steps: [{ step: 'accepted' }, { step: 'mac_reported' }] },
        { id: second.id, status: 'rejected', steps: [{ step: 'rejected' }] },
      ],
    });
    const one = await call('GET', `/operator/messages/${first.id}`);
    expect(one.body).toMatchObject({ id: first.id, requests: [{ id: first.id }] });
    const all = await call('GET', `/operator/messages/${first.id}?all=true`);
    expect(all.body).toMatchObject({ id: first.id, requests: [{ id: first.id }, { id: second.id }] });
  });

  it.each(['unknown', 'x'.repeat(300), '%00', '..%2f'])('responds 404 for %s', async (id) => {
    const { call } = await start();
    expect(await call('GET', `/operator/messages/${id}`)).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND' },
    });
  });
});

describe('POST /operator/messages/:id/redeliver', () => {
  const parked = { state: 'undeliverable', code: 'NO_CONTACT' } as const;

  it('asks the Mac to resend the frame by the last sequence number it was stored under', async () => {
    const { journal, call, asked, audit } = await start();
    journal.open(entry({ id: 'in1', direction: 'inbound' }), 'received');
    journal.step('in1', 'parked', { ...parked, detail: { seq: 7 } });
    journal.step('in1', 'parked', { ...parked, detail: { seq: 12 } });
    expect(await call('POST', '/operator/messages/in1/redeliver')).toEqual({
      status: 202,
      body: { id: 'in1', locationId: 'loc1', seq: 12 },
    });
    expect(asked).toEqual([['loc1', { seq: 12 }]]);
    expect(audit).toMatchObject([{ action: 'message.redelivered', target: 'in1' }]);
  });

  it('rejects a message that is not parked, an outbound message, and a message whose Mac is not connected', async () => {
    const { journal, call } = await start('not_connected');
    journal.open(entry({ id: 'in1', direction: 'inbound' }), 'received');
    journal.open(entry({ id: 'out1' }), 'accepted');
    journal.open(entry({ id: 'in2', direction: 'inbound' }), 'received');
    journal.step('in2', 'parked', { ...parked, detail: { seq: 7 } });
    for (const id of ['in1', 'out1', 'in2'])
      expect(await call('POST', `/operator/messages/${id}/redeliver`)).toMatchObject({
        status: 409,
        body: { code: 'CONFLICT', message: expect.any(String) },
      });
    expect((await call('POST', '/operator/messages/none/redeliver')).status).toBe(404);
  });

  it('I10 releases an outbound message that was set aside: the CRM sends it again', async () => {
    const { journal, call, asked, audit, released } = await start();
    const rejected = { state: 'rejected', code: 'SET_ASIDE' } as const;
    journal.open(entry({ id: 'out1' }), 'rejected', rejected);
    journal.open(entry({ id: 'out2', messageId: null }), 'rejected', {
      ...rejected,
      detail: { suspect: 'sha256:1' },
    });
    for (const id of ['out1', 'out2'])
      expect(await call('POST', `/operator/messages/${id}/redeliver`)).toEqual({
        status: 202,
        body: { id, locationId: 'loc1', seq: 0 },
      });
    expect(released.map(({ kind, id }) => `${kind} ${id}`)).toEqual(['outbound msg1', 'outbound sha256:1']);
    expect(asked).toEqual([]);
    expect(audit).toHaveLength(2);
  });

  it('I10 tells the Mac that it may try an outbound message again, which ended the agent', async () => {
    const { journal, call, asked } = await start();
    journal.open(entry({ id: 'out1' }), 'accepted');
    journal.step('out1', 'mac_reported', { state: 'failed', code: 'SET_ASIDE' });
    journal.open(entry({ id: 'out2' }), 'rejected', { state: 'rejected', code: 'SET_ASIDE' });
    expect(await call('POST', '/operator/messages/msg1/redeliver')).toMatchObject({ status: 202 });
    expect(asked).toEqual([['loc1', { seq: 0, messageId: 'msg1' }]]);
  });

  it('I10 keeps an outbound message set aside while its Mac is not connected', async () => {
    const { journal, call, released } = await start('not_connected');
    journal.open(entry({ id: 'out1' }), 'accepted');
    journal.step('out1', 'mac_reported', { state: 'failed', code: 'SET_ASIDE' });
    expect((await call('POST', '/operator/messages/out1/redeliver')).status).toBe(409);
    expect(released).toEqual([]);
  });

  it('I10 keeps an inbound message set aside while its Mac is not connected', async () => {
    const { journal, call, released } = await start('not_connected');
    journal.open(entry({ id: 'in1', direction: 'inbound', messageId: 'guid' }), 'received');
    journal.step('in1', 'parked', { ...parked, code: 'SET_ASIDE', detail: { seq: 7 } });
    expect((await call('POST', '/operator/messages/in1/redeliver')).status).toBe(409);
    expect(released).toEqual([]);
  });
});
