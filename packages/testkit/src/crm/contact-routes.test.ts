import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startCrm } from '../crm.ts';
import type { Crm } from '../crm.ts';
import { responseProblems, requestProblems } from '../openapi.ts';
import { createCleanup } from '../cleanup.ts';
import { request } from './test-client.ts';

const cleanup = createCleanup();
let crm: Crm;
let token = '';

beforeEach(async () => {
  crm = await startCrm();
  cleanup.add(() => crm.stop());
  token = crm.token('LocA').access_token;
});
afterEach(async () => {
  expect(crm.calls.flatMap(requestProblems)).toEqual([]);
  await cleanup.run();
});

const duplicate = (query: string) =>
  request(crm, `GET /contacts/search/duplicate?locationId=LocA&${query}`, { token });

describe('a contact by id', () => {
  it('is returned with its phone', async () => {
    const { id } = crm.addContact({ locationId: 'LocA', phone: '+15550001111', firstName: 'Ada' });
    const answer = await request(crm, `GET /contacts/${id}`, { token });
    expect(answer.body).toMatchObject({
      contact: { id, locationId: 'LocA', phone: '+15550001111', name: 'Ada' },
    });
    expect(responseProblems('contact', answer.status, answer.body)).toEqual([]);
  });

  it('gets 400 if it is unknown and 403 if it belongs to another location', async () => {
    expect((await request(crm, 'GET /contacts/missing', { token })).status).toBe(400);
    const { id } = crm.addContact({ locationId: 'LocB' });
    expect((await request(crm, `GET /contacts/${id}`, { token })).status).toBe(403);
  });

  it('gets 400 after it was removed', async () => {
    const { id } = crm.addContact({ locationId: 'LocA', phone: '+15550001111' });
    crm.removeContact(id);
    expect((await request(crm, `GET /contacts/${id}`, { token })).status).toBe(400);
    expect((await duplicate('number=%2B15550001111')).body['contact']).toBeNull();
  });
});

describe('the duplicate search', () => {
  it('finds a contact by phone in any format and by email in any case', async () => {
    const { id } = crm.addContact({ locationId: 'LocA', phone: '+1 (555) 000-1111', email: 'Ada@x.test' });
    expect((await duplicate('number=%2B15550001111')).body).toMatchObject({ contact: { id } });
    expect((await duplicate('email=ada%40X.test')).body).toMatchObject({ contact: { id } });
  });

  it('finds nothing in another location, nor with an unencoded +', async () => {
    crm.addContact({ locationId: 'LocB', phone: '+15550001111' });
    expect((await duplicate('number=%2B15550001111')).body['contact']).toBeNull();
    crm.addContact({ locationId: 'LocA', phone: '+15550001111' });
    expect((await duplicate('number=+15550001111')).body['contact']).toBeNull();
  });
});

describe('the search', () => {
  it('filters by phone and by query', async () => {
    const ada = crm.addContact({ locationId: 'LocA', phone: '+15550001111', firstName: 'Ada' });
    crm.addContact({ locationId: 'LocA', phone: '+15550002222', firstName: 'Bob' });
    const filters = [{ field: 'phone', operator: 'eq', value: '+15550001111' }];
    const base = { locationId: 'LocA', pageLimit: 10 };
    for (const body of [
      { ...base, filters },
      { ...base, query: 'ada' },
    ]) {
      const answer = await request(crm, 'POST /contacts/search', { token, body });
      expect(answer.body).toMatchObject({ contacts: [{ id: ada.id }], total: 1 });
    }
    expect(
      (await request(crm, 'POST /contacts/search', { token, body: { locationId: 'LocA' } })).status,
    ).toBe(422);
  });
});

describe('creating a contact', () => {
  it('gets 201, or 400 with the id of the existing contact for a duplicate', async () => {
    const body = { locationId: 'LocA', phone: '+15550001111', source: 'test' };
    const first = await request(crm, 'POST /contacts/', { token, body });
    expect(first.status).toBe(201);
    expect(responseProblems('createContact', first.status, first.body)).toEqual([]);
    const contactId = crm.contacts[0]?.id;
    expect(first.body).toMatchObject({ contact: { id: contactId } });
    const second = await request(crm, 'POST /contacts/', { token, body });
    expect(second.status).toBe(400);
    expect(second.body).toMatchObject({
      message: 'This location does not allow duplicated contacts.',
      meta: { contactId, matchingField: 'phone' },
    });
    crm.settings.allowDuplicates = true;
    expect((await request(crm, 'POST /contacts/', { token, body })).status).toBe(201);
    expect(crm.contacts).toHaveLength(2);
  });
});

describe('upserting a contact', () => {
  it('creates it, then updates it including its tags', async () => {
    const upsert = (more: object) =>
      request(crm, 'POST /contacts/upsert', {
        token,
        body: { locationId: 'LocA', phone: '+15550001111', ...more },
      });
    const made = await upsert({ tags: ['old'] });
    expect(made.body).toMatchObject({ new: true });
    expect(responseProblems('upsert', made.status, made.body)).toEqual([]);
    const changed = await upsert({ firstName: 'Ada', tags: ['new'] });
    expect(changed.body).toMatchObject({ new: false, contact: { firstName: 'Ada', tags: ['new'] } });
    expect(crm.contacts).toHaveLength(1);
    expect((await upsert({ phone: '+15550002222' })).body).toMatchObject({ new: true });
  });

  it('requires the location of the token', async () => {
    crm.settings.recordCalls = false;
    expect((await request(crm, 'POST /contacts/upsert', { token, body: { phone: '1' } })).status).toBe(422);
    expect(
      (await request(crm, 'POST /contacts/upsert', { token, body: { locationId: 'LocB' } })).status,
    ).toBe(403);
    expect(crm.calls).toHaveLength(0);
  });
});
