import type { ContactCalls } from '../inbound/crm-calls.ts';
import type { DndCalls } from '../../features/opt-out/watch-words.ts';
import type { ReachFieldCalls } from '../../features/reach/write-reach.ts';
import { succeeded } from '../../platform/retry/attempt.ts';
import type { Attempt } from '../../platform/retry/attempt.ts';
import type { CrmCall, CrmClient } from './crm-client.ts';

/** `PUT /contacts/{contactId}` for the contact with a given phone number. */
export function createContactUpdateCalls(
  client: CrmClient,
  contacts: Pick<ContactCalls, 'find'>,
): DndCalls & ReachFieldCalls {
  async function update(
    operation: CrmCall<unknown>['operation'],
    locationId: string,
    handle: string,
    fields: object,
  ): Promise<Attempt<'updated' | 'no_contact'>> {
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
  }

  return {
    setDnd(locationId, handle, isOn) {
      const sms = isOn
        ? { status: 'active', message: 'The recipient asked to stop.', code: 'STOP' }
        : { status: 'inactive', message: 'The recipient asked to start again.', code: 'START' };
      return update('set_dnd', locationId, handle, { dndSettings: { SMS: sms } });
    },
    setReach: (locationId, handle, { fieldId, reach }) =>
      update('set_reach', locationId, handle, { customFields: [{ id: fieldId, field_value: reach }] }),
  };
}
