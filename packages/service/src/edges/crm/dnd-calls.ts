import type { ContactCalls } from '../../flows/inbound/crm-calls.ts';
import type { DndCalls } from '../../flows/opt-out/watch-words.ts';
import { succeeded } from '../../ports/crm/attempt.ts';
import type { CrmClient } from './crm-client.ts';

/** `PUT /contacts/{contactId}`, for a contact that is found by its number. */
export function createDndCalls(client: CrmClient, contacts: Pick<ContactCalls, 'find'>): DndCalls {
  return {
    async setDnd(locationId, handle, isOn) {
      const found = await contacts.find(locationId, handle, {});
      if (!found.ok) return found;
      if (found.value === undefined) return succeeded(undefined);
      const sms = isOn
        ? { status: 'active', message: 'The recipient asked to stop.', code: 'STOP' }
        : { status: 'inactive', message: 'The recipient asked to start again.', code: 'START' };
      return client.attempt({
        operation: 'set_dnd',
        locationId,
        bearer: 'any',
        method: 'PUT',
        path: `/contacts/${encodeURIComponent(found.value)}`,
        body: JSON.stringify({ dndSettings: { SMS: sms } }),
        discardsBody: true,
        read: () => succeeded(undefined),
      });
    },
  };
}
