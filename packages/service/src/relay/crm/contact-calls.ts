import { readJson } from '@footbridge/protocol/read-json';
import { isObject } from '@footbridge/protocol/schema';
import { usableMessageId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';

import { failed, succeeded, retry, once } from '../../platform/retry/retry.ts';
import type { Attempt, SendGuard, FailedAttempt } from '../../platform/retry/retry.ts';
import { EngineError } from '../../platform/errors.ts';
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

export interface PhoneCalls {
  /** One attempt. Resolves with undefined when the contact has no phone or belongs to another location. */
  readPhone(
    locationId: string,
    contactId: string,
    timeoutMs: number,
    guard: SendGuard,
  ): Promise<Attempt<string | undefined>>;
}

export interface LookUpPhoneDeps {
  readonly calls: PhoneCalls;
  readonly clock: Clock;
}

/** The deadline of a lookup. A webhook waits for it. */
const WITHIN_MS = 4000;

/**
 * Looks up the phone of a contact, for a webhook without one (W7). Makes one attempt, unless the deadline has passed. Throws EngineError
 * when this service could not make the call.
 */
export function createLookUpPhone({ calls, clock }: LookUpPhoneDeps) {
  return async function lookUpPhone(locationId: string, contactId: string): Promise<string | undefined> {
    // An id that does not fit into one path segment is not a contact of the CRM.
    if (usableMessageId(contactId) === undefined) return undefined;
    const deadline = new AbortController();
    const cancel = clock.after(WITHIN_MS, () => deadline.abort());
    let latest: Attempt<string | undefined> | undefined;
    const result = await retry({
      attempt: async (previous) =>
        (latest = await calls.readPhone(locationId, contactId, WITHIN_MS, {
          previous,
          cancellation: deadline,
        })),
      policy: once,
      isWanted: () => !deadline.signal.aborted,
      clock,
    });
    cancel();
    if (result.ok) return result.value;
    if (latest?.ok === false && wasNotMade(latest))
      throw new EngineError('crm', `the call was not made: ${latest.reason}`);
    return undefined;
  };
}

/** The call waited for a connection or for the rate limit until its time was over. */
const wasNotMade = ({ kind, inDoubt }: FailedAttempt) =>
  kind === 'crowded' || kind === 'cancelled' || (kind === 'timeout' && inDoubt !== true);

/** Changes fields of the contact with a phone number, if there is one: `PUT /contacts/{contactId}`. One attempt; never rejects. */
export type UpdateContact = (
  operation: string,
  locationId: string,
  handle: string,
  fields: object,
) => Promise<Attempt<'updated' | 'no_contact'>>;

export function createUpdateContact(client: CrmClient, contacts: Pick<ContactCalls, 'find'>): UpdateContact {
  return async (operation, locationId, handle, fields) => {
    const found = await contacts.find(locationId, handle, {});
    if (!found.ok) return found;
    if (found.value === undefined) return succeeded('no_contact');
    return client.attempt({
      operation,
      locationId,
      bearer: 'any',
      method: 'PUT',
      path: `/contacts/${encodeURIComponent(found.value)}`,
      body: JSON.stringify(fields),
      discardsBody: true,
      read: () => succeeded('updated'),
    });
  };
}
