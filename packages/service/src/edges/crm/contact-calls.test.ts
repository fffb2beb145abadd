import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../fake-clock.ts';
import { createContactCalls } from './contact-calls.ts';
import { createCrmClient } from './crm-client.ts';
import type { Call } from './crm-client.ts';

const contact = (fields: object) => JSON.stringify({ contact: { id: 'c1', locationId: 'loc', ...fields } });

/** The calls on a CRM that answers everything alike, at most `callsPer10Sec` times. */
function crm(text: string, callsPer10Sec = 90) {
  const clock = new FakeClock();
  const paths: string[] = [];
  const client = createCrmClient({
    transport: {
      async send({ path }) {
        paths.push(path);
        return { status: 200, headers: new Map(), text };
      },
      async close() {},
    },
    host: 'https://crm.example',
    bearers: {
      bearer: () => ({ authorization: 'Bearer token' }),
      renew: async () => ({ missing: 'away' }),
    },
    clock,
    callsPer10Sec,
  });
  const status: Call = {
    operation: 'status',
    locationId: 'loc',
    bearer: 'oauth',
    method: 'PUT',
    path: '/status',
  };
  const busy = () => void client.call(status, { wanted: () => true, again: () => false });
  return { clock, paths, busy, contacts: createContactCalls(client, clock) };
}

describe('the phone of a contact', () => {
  it('W7 is read from the contact, which must be of this location', async () => {
    expect(await crm(contact({ phone: '+14155550100' })).contacts.lookUp('loc', 'c1')).toBe('+14155550100');
    for (const fields of [{ phone: ' ' }, { phone: 5 }, {}, { phone: '+1415', locationId: 'another' }])
      expect(await crm(contact(fields)).contacts.lookUp('loc', 'c1')).toBeUndefined();
  });

  it.each(['a/b', '../x', 'a?b#c', '%2e%2e', '\u0000'])('W7 an id like %j stays one segment', async (id) => {
    const { contacts, paths } = crm(contact({ phone: '+14155550100' }));
    await contacts.lookUp('loc', id);
    expect(paths).toEqual([`/contacts/${encodeURIComponent(id)}`]);
  });

  it.each(['.', '..', '\ud800', 'x'.repeat(257)])('W7 nobody is asked about %j', async (id) => {
    const { contacts, paths } = crm(contact({ phone: '+14155550100' }));
    expect(await contacts.lookUp('loc', id)).toBeUndefined();
    expect(paths).toEqual([]);
  });

  it('W7 is had also while statuses use up what the CRM allows', async () => {
    const { contacts, paths, busy, clock } = crm(contact({ phone: '+14155550100' }), 10);
    for (let calls = 0; calls < 100; calls++) busy();
    await clock.advance(0);
    expect(await contacts.lookUp('loc', 'c1')).toBe('+14155550100');
    expect(paths).toHaveLength(10);
  });

  it('W7 is not asked for any more when the turn comes too late', async () => {
    const { contacts, paths, clock } = crm(contact({ phone: '+14155550100' }), 1);
    await contacts.lookUp('loc', 'c1');
    const late = contacts.lookUp('loc', 'c2');
    await clock.advance(4000);
    expect(await late).toBeUndefined();
    await clock.advance(20_000);
    expect(paths).toEqual(['/contacts/c1']);
  });
});
