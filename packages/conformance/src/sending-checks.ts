import { checkMessage, REMOVED_ALIASES } from '@footbridge/kit/outbound-message';
import { isObject } from '@footbridge/protocol/schema';
import { usableMessageId } from '@footbridge/protocol/ids';
import { readTime } from '@footbridge/protocol/read-time';
import { diagnoseSignature } from '@footbridge/runtime/diagnose-signature';
import type { CandidateKey, Diagnosis } from '@footbridge/runtime/diagnose-signature';

import { fail, notTried, pass, warn } from './check.ts';
import type { Outcome } from './check.ts';
import type { ConformanceRun } from './conformance-run.ts';
import { describeDifference } from './describe-difference.ts';
import { excerpt } from './redact.ts';
import type { Redact } from './redact.ts';
import type { RuleName } from './rules.ts';
import { RETRY_AFTER_SEC } from './sent-messages.ts';
import type { MessageName, SentMessage } from './sent-messages.ts';
import type { ReceivedWebhook } from './webhook-listener.ts';

export interface SendingChecks {
  readonly run: ConformanceRun;
  readonly messages: ReadonlyMap<MessageName, SentMessage>;
  /** Requests that do not belong to any of the messages. */
  readonly strays: readonly ReceivedWebhook[];
  readonly key: CandidateKey | undefined;
  readonly header: string;
  readonly locationId: string;
  /** The contact that the CRM was asked to text, if known. */
  readonly contactId: string | undefined;
  readonly redact: Redact;
  readonly waitMs: number;
}

const PATHS = new Set(['/crm/webhook', '/crm/webhook/imessage', '/crm/webhook/sms']);
/** Allows for timers of the CRM that fire a little early. */
const TOLERANCE_MS = 100;
const DAY_MS = 86_400_000;
const AFTER_WEBHOOK: readonly RuleName[] = [
  'signatureEncoding',
  'signature',
  'contentType',
  'fields',
  'messageId',
  'type',
  'text',
  'once',
  'retries',
  'sameBytes',
  'retryAfter',
  'badRequest',
  'unauthorised',
  'footer',
  'fileUrls',
  'time',
];
export const SENDING_RULES: readonly RuleName[] = ['webhook', ...AFTER_WEBHOOK];

/** A request with its parsed body. */
interface Webhook extends ReceivedWebhook {
  readonly message: MessageName;
  readonly fields: Record<string, unknown> | undefined;
}

/** Checks the webhooks that the CRM sent. Resolves with the messageIds of the accepted messages. */
export async function checkSending(given: SendingChecks): Promise<string[]> {
  const { run, messages } = given;
  const webhooks = [...messages.values()].flatMap(({ name, requests }) =>
    requests.map((request): Webhook => ({ ...request, message: name, fields: objectIn(request.body) })),
  );
  await run.check('webhook', () => checkArrival(given, webhooks));
  if (webhooks.length === 0) {
    await run.skip(AFTER_WEBHOOK, notTried('no webhook arrived', 'fix HOOK1, then run the check again'));
    return [];
  }
  const of = (name: MessageName): Webhook[] => webhooks.filter(({ message }) => message === name);
  const signatures = webhooks.map((webhook) => diagnosisOf(given, webhook));
  await run.check('signatureEncoding', () => checkEncoding(given, webhooks, signatures));
  await run.check('signature', () => checkSignatures(given, signatures));
  await run.check('contentType', () => checkContentType(given, webhooks));
  await run.check('fields', () => checkFields(given, webhooks));
  await run.check('messageId', () => checkMessageIds(messages, webhooks));
  await run.check('type', () => checkType(webhooks));
  await run.check('text', () => checkText(messages.get('plain'), of('plain')));
  await run.check('once', () => checkOnce(webhooks));
  const copies = of('plain').length;
  // A second copy of a message cannot be distinguished from a retry.
  if (copies > 1)
    await run.skip(
      ['retries', 'sameBytes', 'retryAfter', 'badRequest', 'unauthorised'],
      notTried(`each message arrives ${copies} times`, 'fix HOOK9, then run the check again'),
    );
  else {
    await run.check('retries', () => checkRetry(of('unavailable'), given.waitMs));
    await run.check('sameBytes', () => checkSameBytes([of('unavailable'), of('limited')]));
    await run.check('retryAfter', () => checkRetryAfter(of('limited'), given.waitMs));
    await run.check('badRequest', () => checkNotRetried(of('badRequest')));
    await run.check('unauthorised', () => checkNotRetried(of('unauthorised')));
  }
  await run.check('footer', () => checkText(messages.get('footer'), of('footer')));
  await run.check('fileUrls', () => checkFileUrls(messages.get('file'), of('file')));
  await run.check('time', () => checkTime(webhooks));
  const ids = (['plain', 'footer', 'file', 'unavailable', 'limited'] as const)
    .flatMap((name) => of(name).slice(-1))
    .flatMap(({ fields }) => usableMessageId(fields?.['messageId']) ?? []);
  return [...new Set(ids)];
}

const NOT_ARRIVED = notTried('no request arrived for this message', 'fix HOOK1, then run the check again');

function checkArrival(
  { messages, strays, waitMs, redact }: SendingChecks,
  webhooks: readonly Webhook[],
): Outcome {
  const all = [...messages.values()];
  const problem = all.find((message) => message.problem !== undefined)?.problem;
  const missing = all.filter(({ requests }) => requests.length === 0);
  const [stray] = strays;
  if (missing.length > 0) {
    const seen = `${all.length - missing.length} of ${all.length} messages arrived within ${waitMs / 1000} s`;
    if (problem !== undefined)
      return fail(`${seen}; asking the CRM to send one: ${problem}`, 'check --send-url');
    if (stray !== undefined)
      return fail(
        `${seen}; another request: ${stray.method} ${stray.path} ${excerpt(redact(stray.body.toString('utf8')))}`,
        'requests are matched by their text: check that the body contains the text',
      );
    return fail(seen);
  }
  const wrong = webhooks.find(({ method, path }) => method !== 'POST' || !PATHS.has(path));
  return wrong === undefined
    ? pass(`${webhooks.length} requests for ${all.length} messages`)
    : fail(`${wrong.method} ${wrong.path}`);
}

function diagnosisOf({ key, header }: SendingChecks, { body, headers }: Webhook): Diagnosis | undefined {
  const value = headers[header.toLowerCase()];
  const signature = Array.isArray(value) ? value.join(', ') : (value ?? '');
  return key === undefined ? undefined : diagnoseSignature(body, signature, [key]);
}

const NO_KEY = notTried('the public key of the CRM is not known', 'pass the public key with --key-file');
const ENCODING_STEPS = new Set(['header', 'base64', 'length']);

function checkEncoding(
  { header }: SendingChecks,
  webhooks: readonly Webhook[],
  signatures: readonly (Diagnosis | undefined)[],
): Outcome {
  const wrong = signatures.findIndex((found) => found !== undefined && ENCODING_STEPS.has(found.step));
  const { step, reason, hint } = signatures[wrong] ?? {};
  const { [wrong]: webhook } = webhooks;
  if (step === 'header') {
    const names = Object.keys(webhook?.headers ?? {}).filter((name) => /sign|hmac|auth/.test(name));
    const others =
      names.length === 0 ? 'no other header looks like one' : `similar headers: ${names.join(', ')}`;
    return fail(
      `${header}: ${reason}; ${others}`,
      `sign every request and send the signature as ${header}, or pass the name of your header with --header`,
    );
  }
  if (step === 'base64' || step === 'length') {
    const value = String(webhook?.headers[header.toLowerCase()]);
    const isHex = /^[0-9a-f]+$/i.test(value);
    return fail(
      `${reason} (${value.length} characters)`,
      isHex ? 'it looks like hex; encode the bytes as base64 instead' : hint,
    );
  }
  return signatures[0] === undefined ? NO_KEY : pass(`${header} of ${webhooks.length} requests`);
}

function checkSignatures({ key }: SendingChecks, signatures: readonly (Diagnosis | undefined)[]): Outcome {
  if (key === undefined) return NO_KEY;
  const decoded = signatures.filter((found) => found !== undefined && !ENCODING_STEPS.has(found.step));
  if (decoded.length === 0)
    return notTried('no signature can be decoded', 'fix HOOK2, then run the check again');
  const wrong = decoded.find((found) => found?.ok === false);
  if (wrong === undefined) return pass(`${decoded.length} signatures are valid`);
  const { reason, hint, bodyBytes, bodySha256 } = wrong;
  return fail(`${reason}; body of ${bodyBytes} bytes, SHA-256 ${bodySha256.slice(0, 16)}…`, hint);
}

function checkContentType({ redact }: SendingChecks, webhooks: readonly Webhook[]): Outcome {
  const typed = webhooks.find(
    ({ headers }) => headers['content-type']?.includes('application/json') !== true,
  );
  if (typed !== undefined) return fail(`Content-Type: ${typed.headers['content-type'] ?? 'absent'}`);
  const broken = webhooks.find(({ fields }) => fields === undefined);
  if (broken !== undefined)
    return fail(`not a JSON object in UTF-8: ${excerpt(redact(broken.body.toString('utf8')))}`);
  return pass(`application/json in ${webhooks.length} requests`);
}

/** Fields with their own checks. */
const ELSEWHERE = new Set(['messageId', 'type', 'attachments']);
const ALIASES: ReadonlySet<string> = new Set(Object.values(REMOVED_ALIASES).flatMap((names) => [...names]));

function checkFields({ locationId, contactId }: SendingChecks, webhooks: readonly Webhook[]): Outcome {
  for (const { fields } of webhooks) {
    if (fields === undefined) continue;
    const aliases = Object.entries(REMOVED_ALIASES).flatMap(([field, names]) =>
      fields[field] === undefined && !ELSEWHERE.has(field) && field !== 'conversationId'
        ? names.filter((name) => has(fields, name.split('.'))).map((name) => `${name} instead of ${field}`)
        : [],
    );
    if (aliases.length > 0) return fail(aliases.join(', '));
    const fault = checkMessage(fields).find(
      ({ field, code }) => !ELSEWHERE.has(field) && !ALIASES.has(field) && code !== 'INVALID_FRAME',
    );
    if (fault !== undefined) return fail(`${fault.message} Fields: ${Object.keys(fields).join(', ')}`);
    if (fields['locationId'] !== locationId)
      return fail(
        `locationId is ${excerpt(JSON.stringify(fields['locationId']), 60)} instead of ${locationId}`,
        'send the id under which the tenant is known to Footbridge, or pass it with --location',
      );
    if (contactId !== undefined && fields['contactId'] !== contactId)
      return fail('contactId is not the id of the contact to which the message was sent');
  }
  const names = new Set(webhooks.flatMap(({ fields }) => Object.keys(fields ?? {})));
  return names.size === 0
    ? notTried('no body is a JSON object', 'fix HOOK4, then run the check again')
    : pass(`fields: ${[...names].join(', ')}`);
}

function has(value: unknown, [name = '', ...rest]: readonly string[]): boolean {
  if (!isObject(value) || value[name] === undefined) return false;
  return rest.length === 0 || has(value[name], rest);
}

function checkMessageIds(
  messages: ReadonlyMap<MessageName, SentMessage>,
  webhooks: readonly Webhook[],
): Outcome {
  const firstOf = new Map<string, MessageName>();
  for (const { fields, message } of webhooks) {
    if (fields === undefined) continue;
    const id = usableMessageId(fields['messageId']);
    if (id === undefined)
      return fail(
        fields['messageId'] === undefined
          ? 'no messageId'
          : `messageId is ${excerpt(JSON.stringify(fields['messageId']), 60)}`,
      );
    const owner = firstOf.get(id) ?? message;
    if (owner !== message) return fail('two messages have the same messageId');
    firstOf.set(id, owner);
  }
  return pass(`${firstOf.size} ids for ${messages.size} messages`);
}

function checkType(webhooks: readonly Webhook[]): Outcome {
  const types = new Set(webhooks.map(({ fields }) => fields?.['type']));
  const wrong = [...types].find((type) => type !== undefined && type !== 'SMS');
  if (wrong !== undefined) return fail(`type is ${excerpt(JSON.stringify(wrong), 60)}`);
  return pass(types.has('SMS') ? 'SMS' : 'absent');
}

function checkText(message: SentMessage | undefined, [webhook]: readonly Webhook[]): Outcome {
  if (message === undefined || webhook === undefined) return NOT_ARRIVED;
  const text = textOf(webhook);
  if (text === undefined)
    return notTried('the body has no text', 'fix HOOK4 and HOOK5, then run the check again');
  const difference = describeDifference(message.text, text);
  return difference === undefined ? pass(`${text.length} units, unchanged`) : fail(difference);
}

/** Also looks for the text under wrong names: another check reports those. */
function textOf({ fields }: Webhook): string | undefined {
  const names = ['message', 'body', 'text'];
  return names.map((name) => fields?.[name]).find((value) => typeof value === 'string');
}

function checkOnce(webhooks: readonly Webhook[]): Outcome {
  const accepted = webhooks.filter(({ status }) => status === 200);
  const again = accepted.find((first) =>
    webhooks.some(({ message, at }) => message === first.message && at > first.at),
  );
  if (again === undefined) return pass(`${accepted.length} accepted messages, none repeated`);
  const count = accepted.filter(({ message }) => message === again.message).length;
  return fail(`a message that was accepted with 200 was sent ${count} times`);
}

function checkRetry([first, second]: readonly Webhook[], waitMs: number): Outcome {
  if (first === undefined) return NOT_ARRIVED;
  if (second === undefined)
    return fail(
      `no further request within ${waitMs / 1000} s after HTTP 503`,
      'retry after 5xx, 429 and lost connections; if the CRM retries later, pass a longer --wait',
    );
  return pass(`repeated after ${Math.round(second.at - first.respondedAt)} ms`);
}

function checkSameBytes(exchanges: readonly (readonly Webhook[])[]): Outcome {
  const retried = exchanges.filter(({ length }) => length > 1);
  if (retried.length === 0) return notTried('nothing was repeated', 'fix HOOK10, then run the check again');
  let hasOtherBytes = false;
  for (const [first, ...repeats] of retried)
    for (const repeat of repeats) {
      if (first === undefined || first.body.equals(repeat.body)) continue;
      hasOtherBytes = true;
      for (const name of ['messageId', 'message', 'phone', 'contactId', 'locationId'])
        if (JSON.stringify(first.fields?.[name]) !== JSON.stringify(repeat.fields?.[name]))
          return fail(`${name} of the repeated request differs`);
    }
  return hasOtherBytes
    ? warn('the repeated request has the same messageId and text, but different bytes')
    : pass('the repeated requests have the same bytes');
}

function checkRetryAfter([first, second]: readonly Webhook[], waitMs: number): Outcome {
  if (first === undefined) return NOT_ARRIVED;
  if (second === undefined)
    return fail(
      `no further request within ${waitMs / 1000} s after HTTP 429`,
      'repeat the request after the delay in Retry-After; if the CRM retries later, pass a longer --wait',
    );
  const pauseMs = Math.round(second.at - first.respondedAt);
  const seen = `repeated after ${(pauseMs / 1000).toFixed(1)} s`;
  return pauseMs + TOLERANCE_MS < RETRY_AFTER_SEC * 1000 ? fail(seen) : pass(seen);
}

function checkNotRetried([first, ...repeats]: readonly Webhook[]): Outcome {
  if (first === undefined) return NOT_ARRIVED;
  const [next] = repeats;
  if (next === undefined) return pass('one request');
  return fail(
    `${repeats.length} further requests, the first after ${Math.round(next.at - first.respondedAt)} ms`,
  );
}

function checkFileUrls(message: SentMessage | undefined, [webhook]: readonly Webhook[]): Outcome {
  if (message === undefined)
    return notTried(
      'not possible without --send-url',
      'pass --send-url, or send a file through the service itself',
    );
  if (webhook === undefined) return NOT_ARRIVED;
  const attachments = webhook.fields?.['attachments'];
  if (attachments === undefined)
    return fail(`no attachments; fields: ${Object.keys(webhook.fields ?? {}).join(', ')}`);
  const fault = checkMessage({ ...webhook.fields, attachments }).find(({ field }) => field === 'attachments');
  if (fault !== undefined) return fail(fault.message);
  const count = Array.isArray(attachments) ? attachments.length : 0;
  return count === message.attachments?.length ? pass(`${count} URL`) : fail(`${count} URLs instead of 1`);
}

function checkTime(webhooks: readonly Webhook[]): Outcome {
  const names = ['timestamp', 'dateAdded'];
  const times = webhooks.flatMap(({ fields }) =>
    names.flatMap((name) => (fields?.[name] === undefined ? [] : [{ name, value: fields[name] }])),
  );
  const [first] = times;
  if (first === undefined) return pass('the webhooks have no time, so none is too old');
  for (const { name, value } of times) {
    const at = readTime(value);
    if (at === undefined)
      return fail(`${name} is ${excerpt(JSON.stringify(value), 60)}, which is not read as a time`);
    const offMs = Math.abs(at - Date.now());
    if (offMs > DAY_MS) return fail(`${name} is off by ${Math.round(offMs / DAY_MS)} days`);
  }
  return pass(`${first.name} is ${excerpt(JSON.stringify(first.value), 60)}`);
}

function objectIn(body: Buffer): Record<string, unknown> | undefined {
  try {
    const json: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
