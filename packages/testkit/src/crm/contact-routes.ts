import { badRequest, FOREIGN_LOCATION, forbidden, NO_DUPLICATES, ok, unprocessable } from './responses.ts';
import type { CrmResponse } from './responses.ts';
import { sameEmail, samePhone } from './contact-store.ts';
import { compact, fieldsOf, textOf, textsOf } from './values.ts';
import type { Contact, NewContact } from './types.ts';
import type { CrmState, Handler } from './state.ts';

export const contact: Handler = (state, { call, identity }) => {
  const id = call.params['contactId'] ?? '';
  const found = state.contacts.byId(id);
  if (!found) return badRequest(`Contact with id ${id} not found`);
  if (found.locationId !== identity?.locationId) return forbidden(FOREIGN_LOCATION);
  return ok({ contact: toBody(found) });
};

/** Stores only the "do not disturb" settings and custom fields. */
export const updateContact: Handler = (state, { call, body, identity }) => {
  const id = call.params['contactId'] ?? '';
  const found = state.contacts.byId(id);
  if (!found) return badRequest(`Contact with id ${id} not found`);
  if (found.locationId !== identity?.locationId) return forbidden(FOREIGN_LOCATION);
  const { dndSettings, customFields } = fieldsOf(body);
  found.dndSettings = { ...found.dndSettings, ...fieldsOf(dndSettings) };
  for (const field of Array.isArray(customFields) ? customFields.map(fieldsOf) : [])
    found.customFields = { ...found.customFields, [textOf(field['id']) ?? '']: field['field_value'] };
  return ok({ succeded: true, contact: toBody(found) });
};

export const duplicate: Handler = (state, { call, identity }) => {
  const { locationId, number, email } = call.query;
  if (!locationId) return unprocessable('locationId must be a string');
  if (locationId !== identity?.locationId) return forbidden(FOREIGN_LOCATION);
  if (!number && !email) return badRequest('Either email or number is required');
  // An unencoded + arrives as a space, which makes it a different number.
  const found = number?.startsWith(' ')
    ? undefined
    : state.contacts.find(locationId, { phone: number, email });
  return ok({ contact: found && isVisible(state, found) ? toBody(found) : null });
};

export const search: Handler = (state, { body, identity }) => {
  const fields = fieldsOf(body);
  const locationId = textOf(fields['locationId']);
  const pageLimit = fields['pageLimit'];
  if (!locationId) return unprocessable('locationId must be a string');
  if (typeof pageLimit !== 'number') return unprocessable('pageLimit must be a number');
  if (locationId !== identity?.locationId) return forbidden(FOREIGN_LOCATION);
  const filters = Array.isArray(fields['filters']) ? fields['filters'].map(fieldsOf) : [];
  const query = textOf(fields['query']);
  const found = state.contacts.search(
    locationId,
    (candidate) =>
      filters.every((filter) => passes(candidate, filter)) && (!query || mentions(candidate, query)),
  );
  return ok({ contacts: found.slice(0, pageLimit).map(toBody), total: found.length });
};

export const createContact: Handler = (state, { body, identity }) => {
  const given = newContact(body);
  if ('status' in given) return given;
  if (given.locationId !== identity?.locationId) return forbidden(FOREIGN_LOCATION);
  const existing = state.settings.allowDuplicates ? undefined : state.contacts.find(given.locationId, given);
  if (existing) {
    const matchingField = given.email && sameEmail(existing.email, given.email) ? 'email' : 'phone';
    return badRequest(NO_DUPLICATES, { meta: { contactId: existing.id, matchingField } });
  }
  return ok({ contact: toBody(state.contacts.add(given)) }, 201);
};

export const upsert: Handler = (state, { body, identity }) => {
  const given = newContact(body);
  if ('status' in given) return given;
  if (given.locationId !== identity?.locationId) return forbidden(FOREIGN_LOCATION);
  const alwaysCreate =
    state.settings.allowDuplicates && fieldsOf(body)['createNewIfDuplicateAllowed'] === true;
  const existing = alwaysCreate ? undefined : state.contacts.find(given.locationId, given);
  const saved = existing ? state.contacts.update(existing, given) : state.contacts.add(given);
  return ok({ new: !existing, contact: toBody(saved) });
};

function newContact(body: unknown): NewContact | CrmResponse {
  const fields = fieldsOf(body);
  const locationId = textOf(fields['locationId']);
  if (!locationId) return unprocessable('locationId must be a string', 'locationId should not be empty');
  for (const name of ['phone', 'email', 'firstName', 'lastName', 'name', 'source']) {
    const value = fields[name];
    if (value !== undefined && value !== null && typeof value !== 'string') {
      return unprocessable(`${name} must be a string`);
    }
  }
  return compact({
    locationId,
    phone: textOf(fields['phone']),
    email: textOf(fields['email']),
    firstName: textOf(fields['firstName']),
    lastName: textOf(fields['lastName']),
    name: textOf(fields['name']),
    source: textOf(fields['source']),
    tags: fields['tags'] === undefined ? undefined : textsOf(fields['tags']),
  });
}

/** The index of the search lags behind the contacts. */
function isVisible(state: CrmState, { dateAdded }: Contact): boolean {
  return Date.parse(dateAdded) <= state.now() - state.settings.readLagMs;
}

function toBody(stored: Contact) {
  const customFields = Object.entries(stored.customFields ?? {}).map(([id, value]) => ({ id, value }));
  return { ...stored, type: 'lead', dnd: false, customFields };
}

function passes({ phone, email }: Contact, filter: Record<string, unknown>): boolean {
  const value = textOf(filter['value']) ?? '';
  if (filter['field'] === 'phone') return samePhone(phone, value);
  if (filter['field'] === 'email') return sameEmail(email, value);
  return false;
}

function mentions({ name, phone, email }: Contact, query: string): boolean {
  return [name, phone, email].some((text) => text?.toLowerCase().includes(query.toLowerCase()));
}
