import { FakeClock } from '@footbridge/testkit/fake-clock';
import { describe, expect, it } from 'vitest';

import { createLookUpPhone, createContactCalls } from './contact-calls.ts';
import { succeeded } from '../../platform/retry/retry.ts';
import { createCrmClient } from './crm-client.ts';
import type { CrmCall } from './crm-client.ts';

const contact = (fields: object) => JSON.stringify({ contact: { id: 'c1', locationId: 'loc', ...fields } });

/** The calls on a CRM that always responds with `text`. */
function setUp(text: string, { status = 200, callsPer10Sec = 90 } = {}) {
  const clock = new FakeClock();
  const requests: string[] = [];
  let token = 1;
  const client = createCrmClient({
    apiVersion: '2021-07-28',
    transport: {
      async send({ method, path, body }) {
        requests.push([method, path, body].filter((part) => part !== undefined).join(' '));
        return { status, headers: new Map(), text };
      },
      async close() {},
    },
    host: 'https://crm.example',
    tokens: {
      value: {
        bearer: async () => ({ authorization: `Bearer token-${token}` }),
        renew: async () => ({ authorization: `Bearer token-${++token}` }),
      },
    },
    clock,
    callsPer10Sec,
  });
  const statusCall: CrmCall<string> = {
    operation: 'status',
    locationId: 'loc',
    bearer: 'oauth',
    method: 'PUT',
    path: '/status',
    read: () => succeeded('ok'),
  };
  const calls = createContactCalls(client);
  return {
    clock,
    requests,
    calls,
    sendStatus: () => void client.attempt(statusCall),
    lookUp: createLookUpPhone({ calls, clock }),
  };
}

describe('a contact', () => {
  it('I2 a contact is searched for by number or email address', async () => {
    const { calls, requests } = setUp(contact({}));
    expect(await calls.find('loc', '+14155550100', {})).toEqual(succeeded('c1'));
    expect(await calls.find('loc', 'jo@example.com', {})).toEqual(succeeded('c1'));
    expect(requests).toEqual([
      'GET /contacts/search/duplicate?locationId=loc&number=%2B14155550100',
      'GET /contacts/search/duplicate?locationId=loc&email=jo%40example.com',
    ]);
  });

  it.each(['{"contact":null}', '{}', '', contact({ id: '' }), contact({ locationId: 'another' })])(
    'I2 a contact is not found in %j',
    async (text) => {
      expect(await setUp(text).calls.find('loc', '+14155550100', {})).toEqual(succeeded(undefined));
    },
  );

  it.each(['<!doctype html><title>Maintenance</title>', 'null', '[]'])(
    'I2 whether a contact exists is unknown after a 200 with %j, which is not from the CRM',
    async (text) => {
      const { calls } = setUp(text);
      const unusable = { kind: 'empty', retryable: true, status: 200 };
      expect(await calls.find('loc', '+14155550100', {})).toMatchObject(unusable);
      expect(await calls.findAll('loc', '+14155550100', {})).toMatchObject(unusable);
      for (const call of ['upsert', 'create'] as const)
        expect(await calls[call]('loc', '+14155550100', {})).toMatchObject({ ...unusable, inDoubt: true });
    },
  );

  it('I2 a contact is listed with all others that have its number or email address', async () => {
    const contacts = [{ id: 'c1' }, { id: 'c2', locationId: 'loc' }, { id: 'c3', locationId: 'another' }, 5];
    const { calls, requests } = setUp(JSON.stringify({ contacts }));
    expect(await calls.findAll('loc', '+14155550100', {})).toEqual(succeeded(['c1', 'c2']));
    await calls.findAll('loc', 'jo@example.com', {});
    expect(requests).toEqual(
      [
        { field: 'phone', operator: 'eq', value: '+14155550100' },
        { field: 'email', operator: 'eq', value: 'jo@example.com' },
      ].map(
        (filter) =>
          `POST /contacts/search ${JSON.stringify({ locationId: 'loc', pageLimit: 100, filters: [filter] })}`,
      ),
    );
    for (const text of ['', '{}', '{"contacts":null}'])
      expect(await setUp(text).calls.findAll('loc', '+14155550100', {})).toEqual(succeeded([]));
  });

  it('I2 a contact is created or upserted with its handle', async () => {
    const { calls, requests } = setUp(contact({}), { status: 201 });
    expect(await calls.upsert('loc', '+14155550100', {})).toEqual(succeeded('c1'));
    expect(await calls.create('loc', 'jo@example.com', {})).toEqual(succeeded('c1'));
    expect(requests).toEqual([
      'POST /contacts/upsert {"locationId":"loc","phone":"+14155550100"}',
      'POST /contacts/ {"locationId":"loc","email":"jo@example.com"}',
    ]);
  });

  it('I2 a contact that already exists is named by the rejection of its creation', async () => {
    const text = JSON.stringify({ message: 'duplicated', meta: { contactId: 'c9' } });
    expect(await setUp(text, { status: 400 }).calls.create('loc', '+14155550100', {})).toEqual(
      succeeded('c9'),
    );
  });

  it('I2 a contact is not created when the response contains none', async () => {
    expect(await setUp('{}', { status: 201 }).calls.create('loc', '+14155550100', {})).toMatchObject({
      kind: 'refused',
      retryable: false,
      status: 201,
    });
  });
});

describe('the phone of a contact', () => {
  it('W7 the phone is read from the contact, which must belong to this location', async () => {
    expect(await setUp(contact({ phone: '+14155550100' })).lookUp('loc', 'c1')).toBe('+14155550100');
    for (const fields of [{ phone: ' ' }, { phone: 5 }, {}, { phone: '+1415', locationId: 'another' }])
      expect(await setUp(contact(fields)).lookUp('loc', 'c1')).toBeUndefined();
  });

  it.each(['a/b', '../x', 'a?b#c', '%2e%2e', '\u0000'])(
    'W7 the id %j stays in one path segment',
    async (id) => {
      const { lookUp, requests } = setUp(contact({ phone: '+14155550100' }));
      await lookUp('loc', id);
      expect(requests).toEqual([`GET /contacts/${encodeURIComponent(id)}`]);
    },
  );

  it.each(['.', '..', '\ud800', 'x'.repeat(257)])(
    'W7 the phone is not requested for the id %j',
    async (id) => {
      const { lookUp, requests } = setUp(contact({ phone: '+14155550100' }));
      expect(await lookUp('loc', id)).toBeUndefined();
      expect(requests).toEqual([]);
    },
  );

  it('W7 the phone is available while statuses use up the rate limit', async () => {
    const { lookUp, requests, sendStatus, clock } = setUp(contact({ phone: '+14155550100' }), {
      callsPer10Sec: 10,
    });
    for (let calls = 0; calls < 100; calls++) sendStatus();
    await clock.advance(0);
    expect(await lookUp('loc', 'c1')).toBe('+14155550100');
    expect(requests).toHaveLength(10);
  });

  it('W7 the phone is not requested once it would be too late', async () => {
    const { lookUp, requests, clock } = setUp(contact({ phone: '+14155550100' }), { callsPer10Sec: 1 });
    await lookUp('loc', 'c1');
    const late = expect(lookUp('loc', 'c2')).rejects.toThrow('the call was not made');
    await clock.advance(4000);
    await late;
    await clock.advance(20_000);
    expect(requests).toEqual(['GET /contacts/c1']);
  });

  it('W7 the phone is requested once, and once more with a renewed token', async () => {
    for (const [status, requests] of [
      [503, 1],
      [401, 2],
    ] as const) {
      const one = setUp('{}', { status });
      expect(await one.lookUp('loc', 'c1')).toBeUndefined();
      expect(one.requests).toHaveLength(requests);
    }
  });
});
