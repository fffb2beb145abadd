import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { writeFooter } from '@footbridge/protocol/footer';
import { isObject } from '@footbridge/protocol/schema';

import { fail, notTried, pass, warn } from './check.ts';
import type { Outcome } from './check.ts';
import type { ConformanceRun } from './conformance-run.ts';
import { isAccepted, jsonOf } from './crm-api.ts';
import type { CrmApi, CrmCall, CrmResponse, NoResponse } from './crm-api.ts';
import { describeDifference } from './describe-difference.ts';
import type { Person } from './person.ts';
import type { RuleName } from './rules.ts';
import type { StoredMessages } from './stored-messages.ts';

export interface ReceivingDeps {
  readonly run: ConformanceRun;
  readonly api: CrmApi;
  readonly stored: StoredMessages;
  readonly person: Person;
  readonly locationId: string;
  /** An existing contact; otherwise one is created. */
  readonly contactId: string | undefined;
  readonly phone: string;
  /** The `type` of inbound messages. */
  readonly type: string;
  readonly conversationProviderId: string | undefined;
  /** How many calls to make to reach the rate limit; 0 makes none. */
  readonly burst: number;
  /** A unique string in the texts of this run. */
  readonly marker: string;
  readonly signal: AbortSignal;
}

const MAX_UNITS = 20_000;
const BURST_SIZE = 20;
const CONTACT_LAG_MS = 12_000;
const POLL_MS = 300;
/** A duplicate may be stored a little later than the first one. */
const SETTLE_MS = 1500;
const LATER: readonly RuleName[] = [
  'contacts',
  'inbound',
  'unknownFields',
  'attachments',
  'anyText',
  'storedText',
  'footers',
  'idempotency',
  'reads',
  'invalid',
  'rateLimit',
];
const NEEDS_CONTACT = LATER.slice(1, -1);
const NEEDS_INBOUND = LATER.slice(2, -2);

const ANY_SCRIPT = 'Zoë 👩🏽‍🚀🇳🇱 “quoted” \\ <b>&amp;</b> שלום עליכם 中文 नमस्ते\nsecond line\ttab';

/** Checks the calls that the service makes to the CRM. Resolves with the id of the test contact, if there is one. */
export async function checkReceiving(deps: ReceivingDeps): Promise<string | undefined> {
  const { run, api } = deps;
  const lookup = lookupCall(deps);
  const first = await api.call(lookup);
  await run.check('address', () => checkAddress(api, first));
  if ('reason' in first || (first.status >= 300 && first.status < 400)) {
    const because = notTried('API1 failed', 'make the API respond, then run the check again');
    await run.skip(['token', ...LATER], because);
    return undefined;
  }
  const token = await run.check('token', () => checkToken(deps, first, lookup));
  if (token.state === 'fail' && !isTokenAccepted(first)) {
    await run.skip(LATER, notTried('API2 failed', 'pass a token that the CRM accepts with --token-file'));
    return undefined;
  }
  let contactId = deps.contactId;
  await run.check('contacts', async () => {
    const { found, id } = await checkContacts(deps);
    contactId ??= id;
    return found;
  });
  const known = contactId;
  if (known === undefined)
    await run.skip(NEEDS_CONTACT, notTried('there is no contact', 'fix API3, or pass --contact with an id'));
  else await checkMessages(deps, known);
  await run.check('rateLimit', () => checkRateLimit(deps, lookup));
  return known;
}

/** Covers all calls of a run, so it must run last. */
export function checkResponseTime({ calls }: CrmApi, timeoutMs: number): Outcome {
  const slowest = calls.reduce((slow, call) => (call.ms > slow.ms ? call : slow), {
    line: 'none',
    ms: 0,
    status: 200,
  });
  const seen = `${calls.length} calls, the slowest took ${slowest.ms} ms: ${slowest.line}`;
  const slow = calls.filter(({ ms }) => ms >= Math.min(timeoutMs, 10_000));
  if (slow.length > 0) return fail(`${slow.length} of ${seen}`);
  return slowest.ms > 3000 ? warn(seen) : pass(seen);
}

const lookupCall = ({ locationId, phone }: ReceivingDeps): CrmCall => ({
  method: 'GET',
  path: `/contacts/search/duplicate?${new URLSearchParams({ locationId, number: phone }).toString()}`,
});

function checkAddress(api: CrmApi, response: CrmResponse | NoResponse): Outcome {
  const seen = api.describe(response);
  if ('reason' in response)
    return fail(`${api.url}: ${seen}`, 'check the address and that the CRM is running');
  if (response.status >= 300 && response.status < 400)
    return fail(`HTTP ${response.status}, a redirect`, 'pass the target of the redirect with --crm');
  const { protocol, hostname } = new URL(api.url);
  const isLocal = /^(?:localhost|127\.|\[::1\])/.test(hostname);
  if (protocol === 'http:' && !isLocal)
    return warn(`${api.url} is not encrypted: the token and all texts can be read in transit`);
  return pass(`${api.url} responded after ${response.ms} ms`);
}

const isTokenAccepted = ({ status }: CrmResponse | NoResponse) => status !== 401 && status !== 403;

async function checkToken({ api }: ReceivingDeps, good: CrmResponse, lookup: CrmCall): Promise<Outcome> {
  if (!isTokenAccepted(good))
    return fail(
      `the given token: ${api.describe(good)}`,
      'pass a valid access token of this location with --token-file, and the location with --location',
    );
  const wrong = await api.call({ ...lookup, headers: { Authorization: `Bearer wrong-${randomUUID()}` } });
  if (wrong.status === 401) return pass('the given token is accepted, a wrong one gets 401');
  return fail(`a wrong token: ${api.describe(wrong)}`);
}

async function checkContacts(deps: ReceivingDeps): Promise<{ found: Outcome; id?: string }> {
  const { api, locationId, phone, signal } = deps;
  const body = { locationId, phone };
  let created = await api.call({ method: 'POST', path: '/contacts/upsert', body });
  if (created.status === 404 || created.status === 405)
    created = await api.call({ method: 'POST', path: '/contacts/', body });
  const id = contactIn(jsonOf(created))?.['id'] ?? duplicateIn(jsonOf(created));
  if (typeof id !== 'string' || id === '')
    return { found: fail(`creating a contact: ${api.describe(created)}`) };
  const started = performance.now();
  for (;;) {
    const response = await api.call(lookupCall(deps));
    const found = contactIn(jsonOf(response))?.['id'];
    if (found === id) break;
    if (typeof found === 'string' || performance.now() - started > CONTACT_LAG_MS)
      return { id, found: fail(`looking the contact up by its number: ${api.describe(response)}`) };
    await sleep(POLL_MS, undefined, { signal });
  }
  const read = await api.call({ method: 'GET', path: `/contacts/${encodeURIComponent(id)}` });
  const { phone: shown } = contactIn(jsonOf(read)) ?? {};
  if (typeof shown !== 'string')
    return {
      id,
      found: warn(
        `the contact is found, but GET /contacts/{id} does not return its phone: ${api.describe(read)}`,
        'return {"contact":{"id":…,"phone":…}}, or send phone with every webhook',
      ),
    };
  return { id, found: pass('created, found by its number, and read with its phone') };
}

function contactIn(json: unknown): Record<string, unknown> | undefined {
  const contact = isObject(json) ? json['contact'] : undefined;
  return isObject(contact) ? contact : undefined;
}

/** The rejection of a duplicate contains the id of the existing contact. */
function duplicateIn(json: unknown): unknown {
  const meta = isObject(json) ? json['meta'] : undefined;
  return isObject(meta) ? meta['contactId'] : undefined;
}

async function checkMessages(deps: ReceivingDeps, contactId: string): Promise<void> {
  const { run, api, stored, marker } = deps;
  const post = (fields: object, key: string = randomUUID()) => postInbound(deps, contactId, fields, key);
  const text = `Footbridge conformance ${marker}-min`;
  const minimal = await post({ message: text });
  await run.check('inbound', () => checkInbound(api, minimal));
  if (!isAccepted(minimal)) {
    await run.skip(NEEDS_INBOUND, notTried('API4 failed', 'fix API4, then run the check again'));
    await run.check('invalid', () => checkInvalid(deps));
    return;
  }
  const accepts = async (cases: Readonly<Record<string, object>>): Promise<Outcome> => {
    for (const [name, fields] of Object.entries(cases)) {
      const response = await post(fields);
      if (!isAccepted(response)) return fail(`${name}: ${api.describe(response)}`);
    }
    return pass(`${Object.keys(cases).join(', ')}: accepted`);
  };
  const file = 'https://files.example.com/conformance/photo.png';
  await run.check('unknownFields', () =>
    accepts({
      'a string, a number, a list and an object': {
        message: `${text} with unknown fields`,
        futureText: 'x',
        futureNumber: 1,
        futureList: ['x'],
        futureObject: { x: null },
      },
    }),
  );
  await run.check('attachments', () =>
    accepts({
      'a file with text': { message: `${text} with a file`, attachments: [file] },
      'a file without text': { message: '', attachments: [file, file] },
    }),
  );
  const scripts = `${marker}-any ${ANY_SCRIPT}`;
  const long = `${marker}-long `.padEnd(MAX_UNITS - 2, '中').concat('👋');
  const anyText = await run.check('anyText', () =>
    accepts({ 'emoji and four scripts': { message: scripts }, '20,000 units': { message: long } }),
  );
  await run.check('storedText', () =>
    anyText.state === 'pass'
      ? checkStored(deps, contactId, { [`${marker}-any`]: scripts, [`${marker}-long`]: long })
      : notTried('API7 failed', 'fix API7, then run the check again'),
  );
  await run.check('footers', () => accepts(footerCases(marker)));
  const canRead = (await stored.find(contactId, `${marker}-min`)) ?? { texts: [], byService: false };
  const isReadable = canRead.byService && canRead.texts.length > 0;
  const idempotency = await run.check('idempotency', () => checkIdempotency(deps, contactId, isReadable));
  await run.check('reads', () => {
    if (isReadable) return pass('a new message is in the conversation of its contact');
    if (idempotency.state === 'pass') return pass('not needed: the Idempotency-Key is honoured');
    return fail('the conversations of the contact cannot be read, or do not show a new message');
  });
  await run.check('invalid', () => checkInvalid(deps));
}

function postInbound(
  { api, locationId, type, conversationProviderId }: ReceivingDeps,
  contactId: string,
  fields: object,
  key: string,
): Promise<CrmResponse | NoResponse> {
  const provider = conversationProviderId === undefined ? {} : { conversationProviderId };
  return api.call({
    method: 'POST',
    path: '/conversations/messages/inbound',
    body: { type, contactId, locationId, ...provider, ...fields },
    headers: { 'Idempotency-Key': key },
  });
}

function messageIdIn(response: CrmResponse | NoResponse): string | undefined {
  const json = jsonOf(response);
  const id: unknown = isObject(json) ? (json['messageId'] ?? json['id']) : undefined;
  return (typeof id === 'string' && id !== '') || typeof id === 'number' ? String(id) : undefined;
}

function checkInbound(api: CrmApi, response: CrmResponse | NoResponse): Outcome {
  if (!isAccepted(response)) return fail(api.describe(response));
  return messageIdIn(response) === undefined
    ? fail(`no messageId: ${api.describe(response)}`)
    : pass(`HTTP ${response.status} with a messageId after ${response.ms} ms`);
}

/** The footers that docs/crm.md describes, and some that later versions may add. */
function footerCases(marker: string): Readonly<Record<string, object>> {
  const reaction = {
    kind: 'classic',
    type: 'love',
    action: 'add',
    target_message_guid: '11111111-2222-4333-8444-555555555555',
  } as const;
  const metadata = { chat_id: 42, sender: '+14155550100', message_guid: randomUUID().toUpperCase() };
  const block = (version: string, json: object) =>
    `-- svc-metadata:${version} --\n${JSON.stringify(json)}\n-- end svc-metadata --`;
  const text = `${marker}-footer`;
  return {
    'a block': { message: writeFooter(text, { chat_id: 42, reaction }) },
    'a sentinel': { message: writeFooter(text, { chat_id: 42, reaction }, 'sentinel') },
    'an unknown kind': {
      message: `${text}\n${block('v1', { ...metadata, reaction: { ...reaction, kind: 'hologram' } })}`,
    },
    'unknown fields': { message: `${text}\n${block('v1', { ...metadata, hologram: { depth: 3 } })}` },
    'v2 and v1': { message: `${text}\n${block('v2', { next: true })}\n${block('v1', metadata)}` },
    'a broken footer': { message: `${text}\n-- svc-metadata:v1 --\n{"chat_id":\n-- end svc-metadata --` },
  };
}

async function checkStored(
  { stored, person }: ReceivingDeps,
  contactId: string,
  sent: Readonly<Record<string, string>>,
): Promise<Outcome> {
  for (const [marker, text] of Object.entries(sent)) {
    const found = await stored.find(contactId, marker);
    if (found === undefined) {
      const answer = await person.confirm(`Does the CRM show this text unchanged? ${ANY_SCRIPT}`);
      if (answer !== undefined)
        return answer
          ? pass('confirmed: the CRM shows the text unchanged')
          : fail('not confirmed: the CRM shows a different text');
      return notTried(
        'the CRM has no known call that reads messages back',
        'pass --list-url with an address that lists the messages of {contactId} as JSON, or compare the texts in the CRM yourself',
      );
    }
    const [first] = found.texts;
    if (first === undefined) return fail(`the message with ${marker} is not in the list of messages`);
    const difference = describeDifference(text, first);
    if (difference !== undefined) return fail(difference);
  }
  return pass('the stored texts equal the texts that were sent');
}

async function checkIdempotency(
  deps: ReceivingDeps,
  contactId: string,
  isReadable: boolean,
): Promise<Outcome> {
  const { api, stored, person, marker, signal } = deps;
  const text = `Footbridge conformance ${marker}-once`;
  const key = randomUUID();
  const first = await postInbound(deps, contactId, { message: text }, key);
  const second = await postInbound(deps, contactId, { message: text }, key);
  if (!isAccepted(first) || !isAccepted(second))
    return fail(
      `the ${isAccepted(first) ? 'second' : 'first'} request: ${api.describe(isAccepted(first) ? second : first)}`,
    );
  const ids = [messageIdIn(first), messageIdIn(second)];
  const isSame = ids[0] !== undefined && ids[0] === ids[1];
  await sleep(SETTLE_MS, undefined, { signal });
  const found = await stored.find(contactId, `${marker}-once`);
  const count = found?.texts.length;
  if (count === 1 && (isSame || ids[1] === undefined)) return pass('one message is stored');
  if (count === undefined) {
    if (isSame) return pass('both responses have the same messageId');
    const answer = await person.confirm(`Does the CRM show the text "${text}" exactly once?`);
    return answer === true
      ? pass('confirmed: the CRM shows the message once')
      : fail('the two responses have different messageIds, so there are two messages');
  }
  if (count === 1) return warn('one message is stored, but the two responses have different messageIds');
  if (count === 0) return fail('the message is not in the list of messages');
  if (isReadable)
    return warn(
      `${count} messages are stored; to avoid duplicates, the service reads the conversation before it repeats a message, which takes half a minute`,
    );
  return fail(`${count} messages are stored for one Idempotency-Key`);
}

async function checkInvalid(deps: ReceivingDeps): Promise<Outcome> {
  const { api, locationId, type } = deps;
  const path = '/conversations/messages/inbound';
  const cases: Readonly<Record<string, object>> = {
    'a message without fields': { locationId, type },
    'a message for an unknown contact': {
      locationId,
      type,
      contactId: `unknown${randomUUID().replaceAll('-', '')}`,
      message: 'Footbridge conformance',
    },
  };
  const accepted: string[] = [];
  for (const [name, body] of Object.entries(cases)) {
    const headers = { 'Idempotency-Key': randomUUID() };
    const response = await api.call({ method: 'POST', path, body, headers });
    if (isAccepted(response)) accepted.push(name);
    else if (response.status < 400 || response.status >= 500)
      return fail(`${name}: ${api.describe(response)}`);
  }
  return accepted.length === 0
    ? pass('both are rejected with 4xx')
    : warn(
        `${accepted.join(' and ')} is accepted`,
        'reject it with 4xx: the message does not appear in any conversation',
      );
}

async function checkRateLimit({ api, burst, signal }: ReceivingDeps, lookup: CrmCall): Promise<Outcome> {
  for (let made = 0; made < burst && !api.calls.some(({ status }) => status === 429); made += BURST_SIZE)
    await Promise.all(Array.from({ length: Math.min(BURST_SIZE, burst - made) }, () => api.attempt(lookup)));
  const limited = api.calls.filter(({ status }) => status === 429);
  if (limited.length === 0)
    return notTried(
      burst === 0 ? 'no call got a 429' : `no 429 in ${burst} calls`,
      'if the CRM has a rate limit, pass --burst with a higher number of calls',
    );
  // Waits for the limit, so that the calls of the next checks are within it.
  await api.call(lookup);
  signal.throwIfAborted();
  const silent = limited.filter(({ hasRetryAfter }) => !hasRetryAfter);
  return silent.length === 0
    ? pass(`${limited.length} calls got a 429, all with Retry-After`)
    : fail(`${silent.length} of ${limited.length} 429 responses have no Retry-After`);
}
