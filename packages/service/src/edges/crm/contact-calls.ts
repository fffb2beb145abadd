import { usableMessageId } from '@footbridge/protocol/ids';
import { isObject } from '@footbridge/protocol/schema';

import type { Clock } from '../../clock.ts';
import type { ContactCalls, Found, Patience } from '../../flows/inbound/crm-calls.ts';
import type { Call, CrmClient } from './crm-client.ts';
import { readJson } from './crm-reason.ts';

/** Looks a contact's phone up for a webhook that came without one (W7). */
export interface ContactPhones {
  /** One try within a few seconds; undefined without a token, without such a contact, or without a phone. */
  lookUp(locationId: string, contactId: string): Promise<string | undefined>;
}

const LOOK_UP_MS = 4000;

export function createContactCalls(client: CrmClient, clock: Clock): ContactCalls & ContactPhones {
  const call = (
    what: Pick<Call, 'operation' | 'locationId' | 'method' | 'path' | 'body'>,
    patience: Patience,
  ) => client.call({ bearer: 'any', wantsBody: true, ...what }, patience);

  return {
    async find(locationId, handle, patience) {
      const query = new URLSearchParams({ locationId, ...asFields(handle, 'number') });
      const path = `/contacts/search/duplicate?${query.toString()}`;
      const outcome = await call({ operation: 'find_contact', locationId, method: 'GET', path }, patience);
      if (outcome.kind !== 'ok') return outcome;
      return foundIn(contactIn(outcome.text), locationId);
    },

    async create(locationId, handle, patience) {
      const body = JSON.stringify({ locationId, ...asFields(handle, 'phone') });
      const ask = (path: string) =>
        call({ operation: 'create_contact', locationId, method: 'POST', path, body }, patience);
      // Upsert finds what exists by the location's own rules; a CRM that does not know it has plain creation.
      let outcome = await ask('/contacts/upsert');
      if (outcome.kind === 'refused' && (outcome.status === 404 || outcome.status === 405))
        outcome = await ask('/contacts/');
      if (outcome.kind === 'ok') {
        const found = foundIn(contactIn(outcome.text), locationId);
        return found.kind === 'found'
          ? found
          : { kind: 'refused', status: outcome.status, reason: 'no contact in the answer' };
      }
      const existing = outcome.kind === 'refused' ? duplicateIn(outcome.text) : undefined;
      return existing === undefined ? outcome : { kind: 'found', contactId: existing };
    },

    async lookUp(locationId, contactId) {
      // What cannot stand in a path as one segment is nobody's id.
      if (usableMessageId(contactId) === undefined) return undefined;
      const outcome = await client.call(
        {
          operation: 'read_contact',
          locationId,
          bearer: 'any',
          method: 'GET',
          path: `/contacts/${encodeURIComponent(contactId)}`,
          wantsBody: true,
          timeoutMs: LOOK_UP_MS,
          isUrgent: true,
        },
        onceWithin(clock, LOOK_UP_MS),
      );
      if (outcome.kind !== 'ok') return undefined;
      const contact = contactIn(outcome.text);
      const phone = belongsTo(contact, locationId) ? contact?.['phone'] : undefined;
      return typeof phone === 'string' && phone.trim() !== '' ? phone : undefined;
    },
  };
}

/** One try, which is not made any more when its turn comes too late. */
function onceWithin(clock: Clock, ms: number): Patience {
  const until = clock.monotonic() + ms;
  return {
    wanted: () => clock.monotonic() < until,
    again: () => false,
    waiting: (wake) => void clock.after(until - clock.monotonic(), wake),
  };
}

const asFields = (handle: string, phoneField: 'number' | 'phone'): Record<string, string> =>
  handle.includes('@') ? { email: handle } : { [phoneField]: handle };

function contactIn(text: string): Record<string, unknown> | undefined {
  const body = readJson(text);
  return isObject(body) && isObject(body['contact']) ? body['contact'] : undefined;
}

/** A contact of another location is nobody here, whatever the CRM's search thinks. */
const belongsTo = (contact: Record<string, unknown> | undefined, locationId: string) =>
  contact?.['locationId'] === undefined || contact['locationId'] === locationId;

function foundIn(contact: Record<string, unknown> | undefined, locationId: string): Found {
  const id = contact?.['id'];
  return typeof id === 'string' && id !== '' && belongsTo(contact, locationId)
    ? { kind: 'found', contactId: id }
    : { kind: 'none' };
}

/** "This location does not allow duplicated contacts" names the one that is there. */
function duplicateIn(text: string): string | undefined {
  const body = readJson(text);
  const meta = isObject(body) && isObject(body['meta']) ? body['meta'] : undefined;
  const id = meta?.['contactId'];
  return typeof id === 'string' && id !== '' ? id : undefined;
}
