import type { Crm } from '../crm.ts';
import type {
  CrmSettings,
  Install,
  Misbehaviour,
  Mood,
  NewContact,
  WebhookFields,
  WebhookOptions,
} from './types.ts';

/** The operations of the control port. The types of the remote CRM derive from this table. */
export function operationsOf(crm: Crm) {
  const moods = new Map<number, Mood>();
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
    misbehave: (what: Misbehaviour) => {
      const id = moods.size + 1;
      moods.set(id, crm.misbehave(what));
      return { id };
    },
    moodHits: ({ id }: { id: number }) => moods.get(id)?.hits ?? 0,
    calm: () => crm.calm(),
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
