import { readJson } from '@footbridge/protocol/read-json';
import { isObject } from '@footbridge/protocol/schema';

import type { PhoneCalls } from './phone-of-contact.ts';
import { failed, succeeded } from '../../platform/retry/attempt.ts';
import type { Attempt, SendGuard } from '../../platform/retry/attempt.ts';
import type { CrmClient } from './crm-client.ts';

const MAX_LISTED = 100;

/** The CRM's contacts. A handle is a phone number or an email address. One attempt each; none rejects. */
export interface ContactCalls {
  /** Resolves with undefined when no contact has this handle. */
  find(locationId: string, handle: string, guard: SendGuard): Promise<Attempt<string | undefined>>;
  /** Resolves with the contacts that have this handle, the first hundred of them. */
  findAll(locationId: string, handle: string, guard: SendGuard): Promise<Attempt<readonly string[]>>;
  /** Finds or creates a contact by the location's own rules. Not every CRM has it. */
  upsert(locationId: string, handle: string, guard: SendGuard): Promise<Attempt<string>>;
  /** Resolves with the existing contact when there is one. */
  create(locationId: string, handle: string, guard: SendGuard): Promise<Attempt<string>>;
}

/** The CRM's contacts: search, upsert, creation, and one contact by its id. */
export function createContactCalls(client: CrmClient): ContactCalls & PhoneCalls {
  const create = (path: string, locationId: string, handle: string, guard: SendGuard) =>
    client.attempt(
      {
        operation: 'create_contact',
        locationId,
        bearer: 'any',
        method: 'POST',
        path,
        body: JSON.stringify({ locationId, ...handleFields(handle, 'phone') }),
        read: (text, status): Attempt<string> => {
          const body = readObject(text);
          // The contact may have been created all the same (I9).
          if (body === undefined) return { ...unusable(status), inDoubt: true };
          const contactId = contactIdIn(body, locationId);
          return contactId === undefined
            ? failed('refused', { retryable: false, status, reason: 'no contact in the response' })
            : succeeded(contactId);
        },
        readError: duplicateIdIn,
      },
      guard,
    );

  return {
    find(locationId, handle, guard) {
      const query = new URLSearchParams({ locationId, ...handleFields(handle, 'number') });
      return client.attempt(
        {
          operation: 'find_contact',
          locationId,
          bearer: 'any',
          method: 'GET',
          path: `/contacts/search/duplicate?${query.toString()}`,
          read: (text, status) => {
            const body = readObject(text);
            return body === undefined ? unusable(status) : succeeded(contactIdIn(body, locationId));
          },
        },
        guard,
      );
    },
    findAll: (locationId, handle, guard) =>
      client.attempt(
        {
          operation: 'find_contact',
          locationId,
          bearer: 'any',
          method: 'POST',
          path: '/contacts/search',
          body: JSON.stringify({ locationId, pageLimit: MAX_LISTED, filters: [handleFilter(handle)] }),
          read: (text, status) => {
            const body = readObject(text);
            return body === undefined ? unusable(status) : succeeded(contactIdsIn(body, locationId));
          },
        },
        guard,
      ),
    upsert: (...given) => create('/contacts/upsert', ...given),
    create: (...given) => create('/contacts/', ...given),
    readPhone: (locationId, contactId, timeoutMs, guard) =>
      client.attempt(
        {
          operation: 'read_contact',
          locationId,
          bearer: 'any',
          method: 'GET',
          path: `/contacts/${encodeURIComponent(contactId)}`,
          timeoutMs,
          isUrgent: true,
          read: (text) => succeeded(phoneIn(readObject(text) ?? {}, locationId)),
        },
        guard,
      ),
  };
}

const handleFields = (handle: string, phoneField: 'number' | 'phone'): Record<string, string> =>
  handle.includes('@') ? { email: handle } : { [phoneField]: handle };

const handleFilter = (handle: string) => ({
  field: handle.includes('@') ? 'email' : 'phone',
  operator: 'eq',
  value: handle,
});

type Body = Readonly<Record<string, unknown>>;

/** Returns undefined for a response that is not from the CRM's API, such as a proxy's error page. An empty response means no contact. */
function readObject(text: string): Body | undefined {
  const body = text.trim() === '' ? {} : readJson(text);
  return isObject(body) ? body : undefined;
}

const unusable = (status: number) =>
  failed('empty', { status, reason: 'the response is not what was requested' });

/** The contact in a response, unless it belongs to another location, whatever the CRM's search returns. */
function contactIn({ contact }: Body, locationId: string): Body {
  return isObject(contact) && isOf(locationId, contact) ? contact : {};
}

function contactIdsIn({ contacts }: Body, locationId: string): string[] {
  const listed: unknown[] = Array.isArray(contacts) ? contacts : [];
  return listed
    .filter((contact) => isObject(contact))
    .filter((contact) => isOf(locationId, contact))
    .map((contact) => nonEmpty(contact['id']))
    .filter((id) => id !== undefined);
}

const isOf = (locationId: string, { locationId: owner }: Body) => owner === undefined || owner === locationId;

function contactIdIn(body: Body, locationId: string): string | undefined {
  return nonEmpty(contactIn(body, locationId)['id']);
}

function phoneIn(body: Body, locationId: string): string | undefined {
  const { phone } = contactIn(body, locationId);
  return typeof phone === 'string' && phone.trim() !== '' ? phone : undefined;
}

/** "This location does not allow duplicated contacts" names the existing contact. */
function duplicateIdIn(text: string): string | undefined {
  const body = readJson(text);
  const meta = isObject(body) && isObject(body['meta']) ? body['meta'] : {};
  return nonEmpty(meta['contactId']);
}

const nonEmpty = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);
