import { badRequest, FOREIGN_LOCATION, forbidden, NO_DUPLICATES, ok, unprocessable } from './answers.ts';
import type { Answer } from './answers.ts';
import { sameEmail, samePhone } from './address-book.ts';
import { compact, fieldsOf, textOf, textsOf } from './reading.ts';
import type { Contact, NewContact } from './shapes.ts';
import type { Handle } from './state.ts';

export const contact: Handle = (state, { call, bearer }) => {
  const id = call.params['contactId'] ?? '';
  const found = state.book.byId(id);
  if (!found) return badRequest(`Contact with id ${id} not found`);
  if (found.locationId !== bearer?.locationId) return forbidden(FOREIGN_LOCATION);
  return ok({ contact: shown(found) });
};

export const duplicate: Handle = (state, { call, bearer }) => {
  const { locationId, number, email } = call.query;
  if (!locationId) return unprocessable('locationId must be a string');
  if (locationId !== bearer?.locationId) return forbidden(FOREIGN_LOCATION);
  if (!number && !email) return badRequest('Either email or number is required');
  // An unencoded + arrives as a space, and the number is then another one.
  const found = number?.startsWith(' ') ? undefined : state.book.find(locationId, { phone: number, email });
  return ok({ contact: found ? shown(found) : null });
};

export const search: Handle = (state, { body, bearer }) => {
  const fields = fieldsOf(body);
  const locationId = textOf(fields['locationId']);
  const pageLimit = fields['pageLimit'];
  if (!locationId) return unprocessable('locationId must be a string');
  if (typeof pageLimit !== 'number') return unprocessable('pageLimit must be a number');
  if (locationId !== bearer?.locationId) return forbidden(FOREIGN_LOCATION);
  const filters = Array.isArray(fields['filters']) ? fields['filters'].map(fieldsOf) : [];
  const query = textOf(fields['query']);
  const found = state.book.search(
    locationId,
    (one) => filters.every((filter) => passes(one, filter)) && (!query || mentions(one, query)),
  );
  return ok({ contacts: found.slice(0, pageLimit).map(shown), total: found.length });
};

export const createContact: Handle = (state, { body, bearer }) => {
  const given = newContact(body);
  if ('status' in given) return given;
  if (given.locationId !== bearer?.locationId) return forbidden(FOREIGN_LOCATION);
  const twin = state.settings.allowDuplicates ? undefined : state.book.find(given.locationId, given);
  if (twin) {
    const matchingField = given.email && sameEmail(twin.email, given.email) ? 'email' : 'phone';
    return badRequest(NO_DUPLICATES, { meta: { contactId: twin.id, matchingField } });
  }
  return ok({ contact: shown(state.book.add(given)) }, 201);
};

export const upsert: Handle = (state, { body, bearer }) => {
  const given = newContact(body);
  if ('status' in given) return given;
  if (given.locationId !== bearer?.locationId) return forbidden(FOREIGN_LOCATION);
  const always = state.settings.allowDuplicates && fieldsOf(body)['createNewIfDuplicateAllowed'] === true;
  const known = always ? undefined : state.book.find(given.locationId, given);
  const saved = known ? state.book.update(known, given) : state.book.add(given);
  return ok({ new: !known, contact: shown(saved) });
};

function newContact(body: unknown): NewContact | Answer {
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

function shown(one: Contact) {
  return { ...one, type: 'lead', dnd: false, customFields: [] };
}

function passes(one: Contact, filter: Record<string, unknown>): boolean {
  const value = textOf(filter['value']) ?? '';
  if (filter['field'] === 'phone') return samePhone(one.phone, value);
  if (filter['field'] === 'email') return sameEmail(one.email, value);
  return false;
}

function mentions(one: Contact, query: string): boolean {
  return [one.name, one.phone, one.email].some((text) => text?.toLowerCase().includes(query.toLowerCase()));
}
