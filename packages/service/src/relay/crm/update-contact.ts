import { succeeded } from '../../platform/retry/attempt.ts';
import type { Attempt } from '../../platform/retry/attempt.ts';
import type { ContactCalls } from './contact-calls.ts';
import type { CrmClient } from './crm-client.ts';

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
