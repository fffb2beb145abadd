import { GHLRateLimitError, HighLevel, MemorySessionStorage } from '@gohighlevel/api-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startCrm } from '../crm.ts';
import type { Crm } from '../crm.ts';
import { ed25519Key, fixedRsaKey, signBody } from '../keys.ts';
import { requestProblems } from '../openapi.ts';
import { createCleanup } from '../cleanup.ts';

/** Runs HighLevel's own SDK against the simulated CRM. */
const cleanup = createCleanup();
let crm: Crm;
let sdk: HighLevel;
let sessions: MemorySessionStorage;
const LOCATION = { headers: { locationId: 'LocA' } };

beforeEach(async () => {
  crm = await startCrm();
  cleanup.add(() => crm.stop());
  sessions = new MemorySessionStorage();
  sdk = new HighLevel({
    clientId: crm.settings.clientId,
    clientSecret: crm.settings.clientSecret,
    apiVersion: '2021-07-28',
    sessionStorage: sessions,
    logLevel: 'none',
  });
  sdk.getHttpClient().defaults.baseURL = crm.url;
});
afterEach(() => cleanup.run());

async function signIn(): Promise<void> {
  const answer = await exchange(crm.install({ locationId: 'LocA' }));
  await sessions.setSession('LocA', { ...answer });
}

function exchange(code: string) {
  const { clientId, clientSecret } = crm.settings;
  return sdk.oauth.getAccessToken({
    client_id: clientId,
    client_secret: clientSecret,
    grant_type: 'authorization_code',
    code,
  });
}

describe('the official SDK', () => {
  it('exchanges a code as form data', async () => {
    const answer = await exchange(crm.install({ locationId: 'LocA' }));
    expect(answer).toMatchObject({ userType: 'Location', locationId: 'LocA', expires_in: 86_399 });
    expect(crm.calls[0]?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    await expect(exchange('no such code')).rejects.toMatchObject({ statusCode: 401 });
  });

  it('finds, creates and reads contacts', async () => {
    await signIn();
    const made = await sdk.contacts.upsertContact({ locationId: 'LocA', phone: '+15550001111' }, LOCATION);
    expect(made.new).toBe(true);
    const contactId = made.contact?.id ?? '';
    const found = await sdk.contacts.getDuplicateContact(
      { locationId: 'LocA', number: '+15550001111' },
      LOCATION,
    );
    expect(found).toMatchObject({ contact: { id: contactId } });
    const read = await sdk.contacts.getContact({ contactId }, LOCATION);
    expect(read.contact?.phone).toBe('+15550001111');
    const body = { locationId: 'LocA', pageLimit: 5, query: '+1555' };
    expect(await sdk.contacts.searchContactsAdvanced(body, LOCATION)).toMatchObject({ total: 1 });
    await expect(
      sdk.contacts.createContact({ locationId: 'LocA', phone: '+15550001111' }, LOCATION),
    ).rejects.toMatchObject({ statusCode: 400, response: { meta: { contactId } } });
  });

  it('adds inbound messages and updates statuses', async () => {
    await signIn();
    const contact = crm.addContact({ locationId: 'LocA' });
    // Its types require a conversation and a provider; the API does not.
    const added = await sdk.conversations.addAnInboundMessage(
      { type: 'SMS', contactId: contact.id, message: 'hello' } as never,
      LOCATION,
    );
    expect(added).toMatchObject({ success: true, messageId: crm.messages[0]?.messageId });
    const messageId = crm.newMessage('LocA');
    await sdk.conversations.updateMessageStatus({ messageId }, { status: 'delivered' }, LOCATION);
    expect(crm.accepted(messageId)).toEqual(['delivered']);
    expect(crm.calls.flatMap(requestProblems)).toEqual([]);
  });

  it('refreshes once for eight concurrent calls with an expired token', async () => {
    await signIn();
    const contact = crm.addContact({ locationId: 'LocA' });
    crm.expireTokens('LocA');
    crm.forget();
    const reads = Array.from({ length: 8 }, () =>
      sdk.contacts.getContact({ contactId: contact.id }, LOCATION),
    );
    const answers = await Promise.all(reads);
    expect(answers.map((answer) => answer.contact?.id)).toEqual(Array.from({ length: 8 }, () => contact.id));
    expect(crm.callsTo('token')).toHaveLength(1);
    expect(crm.callsTo('contact').filter((call) => call.status === 401)).toHaveLength(8);
  });

  it('exchanges an agency install for location tokens', async () => {
    const company = await exchange(crm.install({ companyId: 'Comp1', locations: ['LocA', 'LocB'] }));
    expect(company.locationId).toBeUndefined();
    await sessions.setSession('Comp1', { ...company });
    const appId = crm.settings.clientId.split('-')[0] ?? '';
    const installed = await sdk.oauth.getInstalledLocation({ companyId: 'Comp1', appId });
    expect(installed.locations?.map((location) => location._id)).toEqual(['LocA', 'LocB']);
    const minted = await sdk.oauth.getLocationAccessToken({ companyId: 'Comp1', locationId: 'LocB' });
    expect(minted).toMatchObject({ locationId: 'LocB', userType: 'Location' });
  });

  it('reads the rate limit from a 429 response', async () => {
    await signIn();
    crm.settings.rateLimit = { max: 1, intervalMs: 10_000, daily: 200_000 };
    const { id } = crm.addContact({ locationId: 'LocA' });
    await sdk.contacts.getContact({ contactId: id }, LOCATION);
    const refused = await sdk.contacts
      .getContact({ contactId: id }, LOCATION)
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(GHLRateLimitError);
    expect(refused).toMatchObject({
      rateLimit: { scope: 'burst', intervalMs: 10_000, max: 1, remaining: 0, dailyLimit: 200_000 },
    });
  });

  it('verifies the signatures of our keys and rejects others', () => {
    const body = '{ "locationId" : "LocA" }';
    const key = ed25519Key('witness');
    const check = (text: string, signature: string) =>
      sdk.webhooks.verifyEd25519Signature(text, signature, key.publicKey);
    expect(check(body, signBody(body, key))).toBe(true);
    expect(check('{"locationId":"LocA"}', signBody(body, key))).toBe(false);
    expect(check(body, 'N/A')).toBe(false);
    const rsa = fixedRsaKey();
    expect(sdk.webhooks.verifySignature(body, signBody(body, rsa), rsa.publicKey)).toBe(true);
  });
});
