import type { Crm } from '../crm.ts';
import type {
  CrmSettings,
  Install,
  FaultRule,
  FaultHandle,
  NewContact,
  WebhookFields,
  WebhookOptions,
} from './types.ts';

/** The operations of the control port. The types of the remote CRM derive from this table. */
export function operationsOf(crm: Crm) {
  const faults = new Map<number, FaultHandle>();
  return {
    state: () => ({
      url: crm.url,
      bridgeUrl: crm.bridgeUrl,
      publicKey: crm.key.publicKey,
      settings: crm.settings,
    }),
    set: (settings: Partial<CrmSettings>) => Object.assign(crm.settings, settings),
    setBridge: ({ url }: { url: string }) => {
      crm.bridgeUrl = url;
    },
    install: (what: Install) => crm.install(what),
    token: ({ locationId }: { locationId: string }) => crm.token(locationId),
    pit: ({ locationId }: { locationId: string }) => crm.pit(locationId),
    addContact: (contact: NewContact) => crm.addContact(contact),
    removeContact: ({ id }: { id: string }) => crm.removeContact(id),
    expireTokens: ({ locationId }: { locationId: string }) => crm.expireTokens(locationId),
    revoke: ({ locationId }: { locationId: string }) => crm.revoke(locationId),
    setActive: ({ locationId, active }: { locationId: string; active: boolean }) =>
      crm.setActive(locationId, active),
    injectFault: (what: FaultRule) => {
      const id = faults.size + 1;
      faults.set(id, crm.injectFault(what));
      return { id };
    },
    faultHits: ({ id }: { id: number }) => faults.get(id)?.hits ?? 0,
    clearFaults: () => crm.clearFaults(),
    newMessage: ({ locationId, messageId }: { locationId: string; messageId?: string }) =>
      crm.newMessage(locationId, messageId),
    sendWebhook: ({ fields, options }: { fields: WebhookFields; options?: WebhookOptions }) =>
      crm.sendWebhook(fields, options),
    calls: ({ since = 0 }: { since?: number } = {}) => crm.calls.filter((call) => call.n > since),
    messages: () => crm.messages,
    statuses: () => crm.statuses,
    accepted: ({ messageId }: { messageId: string }) => crm.accepted(messageId),
    webhooks: () => crm.webhooks,
    uploads: () => crm.uploads,
    contacts: () => crm.contacts,
    forget: () => crm.forget(),
  };
}

export type CrmOperations = ReturnType<typeof operationsOf>;
