import { compact, newId } from './values.ts';
import type { Contact, NewContact } from './types.ts';

/** Contacts and their conversations. As in the CRM, each contact has one conversation. */
export class ContactStore {
  readonly #now: () => number;
  readonly #contacts = new Map<string, Contact>();
  readonly #byHandle = new Map<string, Set<Contact>>();
  readonly #conversations = new Map<string, string>();

  constructor(now: () => number) {
    this.#now = now;
  }

  get all(): Contact[] {
    return [...this.#contacts.values()];
  }

  add(given: NewContact): Contact {
    const at = new Date(this.#now()).toISOString();
    const { id = newId(), tags = [], name, ...rest } = given;
    const fullName = name ?? ([given.firstName, given.lastName].filter(Boolean).join(' ') || undefined);
    const contact: Contact = {
      id,
      ...rest,
      ...compact({ name: fullName }),
      tags,
      dateAdded: at,
      dateUpdated: at,
    };
    this.#contacts.set(id, contact);
    this.#index(contact);
    return contact;
  }

  update(contact: Contact, given: NewContact): Contact {
    const { id: _id, locationId: _locationId, ...changes } = given;
    this.#unindex(contact);
    Object.assign(contact, changes, { dateUpdated: new Date(this.#now()).toISOString() });
    this.#index(contact);
    return contact;
  }

  remove(id: string): void {
    const contact = this.#contacts.get(id);
    if (contact) this.#unindex(contact);
    this.#contacts.delete(id);
  }

  byId(id: string): Contact | undefined {
    return this.#contacts.get(id);
  }

  find(
    locationId: string,
    by: { phone?: string | undefined; email?: string | undefined },
  ): Contact | undefined {
    for (const handle of handles(locationId, by)) {
      for (const contact of this.#byHandle.get(handle) ?? []) return contact;
    }
    return undefined;
  }

  search(locationId: string, matches: (contact: Contact) => boolean): Contact[] {
    return this.all.filter((contact) => contact.locationId === locationId && matches(contact));
  }

  conversationOf(contactId: string): string {
    const conversationId = this.#conversations.get(contactId) ?? newId();
    this.#conversations.set(contactId, conversationId);
    return conversationId;
  }

  contactOfConversation(conversationId: string): Contact | undefined {
    for (const [contactId, id] of this.#conversations) if (id === conversationId) return this.byId(contactId);
    return undefined;
  }

  #index(contact: Contact): void {
    for (const handle of handles(contact.locationId, contact)) {
      const contacts = this.#byHandle.get(handle) ?? new Set();
      this.#byHandle.set(handle, contacts.add(contact));
    }
  }

  #unindex(contact: Contact): void {
    for (const handle of handles(contact.locationId, contact)) this.#byHandle.get(handle)?.delete(contact);
  }
}

/** Email first: the CRM looks for duplicates in this order. */
function handles(
  locationId: string,
  of: { phone?: string | undefined; email?: string | undefined },
): string[] {
  const found: string[] = [];
  if (of.email !== undefined) found.push(`${locationId} ${of.email.toLowerCase()}`);
  if (of.phone !== undefined) found.push(`${locationId} ${digits(of.phone)}`);
  return found;
}

export function samePhone(a: string | undefined, b: string): boolean {
  return a !== undefined && digits(a) === digits(b);
}

export function sameEmail(a: string | undefined, b: string): boolean {
  return a?.toLowerCase() === b.toLowerCase();
}

function digits(phone: string): string {
  return phone.replaceAll(/[^0-9]/g, '');
}
