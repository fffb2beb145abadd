import type { Rule } from './check.ts';

/** What a CRM must do. docs/crm.md explains the rules; a test keeps them in sync. */
export const RULES = {
  address: {
    id: 'API1',
    title: 'the API responds at its address',
    expected: 'https, no redirect, a response within the time limit',
    remedy:
      'pass the address at which the API responds without a redirect, with https unless it is on this machine',
  },
  token: {
    id: 'API2',
    title: 'the token is checked',
    expected: 'the given token is accepted; a wrong token gets HTTP 401, and no other status',
    remedy:
      'respond with 401 to an invalid or expired access token on every route: the service renews its token only after a 401',
  },
  contacts: {
    id: 'API3',
    title: 'a contact is found by phone number, and created',
    expected:
      'POST /contacts/upsert (or POST /contacts/) returns {"contact":{"id":…}}; GET /contacts/search/duplicate?locationId=…&number=… then returns the same contact; GET /contacts/{id} returns its phone',
    remedy: 'implement the three contact calls as docs/crm.md describes them',
  },
  inbound: {
    id: 'API4',
    title: 'a minimal inbound message is accepted',
    expected:
      'POST /conversations/messages/inbound with type, contactId, locationId and message gets 2xx and JSON with a messageId',
    remedy:
      'store the message and respond with 2xx and {"messageId":"…"}; a 2xx without messageId is retried',
  },
  unknownFields: {
    id: 'API5',
    title: 'unknown fields are ignored',
    expected: 'an inbound message with additional fields is accepted like one without',
    remedy: 'ignore fields that you do not know: later versions add some',
  },
  attachments: {
    id: 'API6',
    title: 'attachments are accepted',
    expected: 'an inbound message with attachments (a list of URLs) gets 2xx, with and without text',
    remedy: 'accept attachments as a list of URLs; the message may then be empty',
  },
  anyText: {
    id: 'API7',
    title: 'texts in any script and up to the maximum length are accepted',
    expected: 'emoji, right-to-left text and 20,000 UTF-16 units (60,000 bytes as JSON) get 2xx',
    remedy: 'raise the request body limit to 256 KB, and store texts as UTF-8 (utf8mb4 in MySQL)',
  },
  storedText: {
    id: 'API8',
    title: 'texts are stored unchanged',
    expected: 'the stored text equals the text that was sent, apart from surrounding white space',
    remedy: 'store the text unchanged: no escaping, no transliteration, no removed characters',
  },
  footers: {
    id: 'API9',
    title: 'every form of footer is accepted',
    expected:
      'messages with a block footer, a sentinel, an unknown kind, unknown fields, or both a v2 and a v1 footer get 2xx',
    remedy: 'never reject a message because of its footer; ignore what you do not understand',
  },
  idempotency: {
    id: 'API10',
    title: 'a repeated inbound message is stored once',
    expected: 'two requests with the same Idempotency-Key create one message, with the same messageId',
    remedy:
      'keep each Idempotency-Key and its response for at least a day, and return that response again, also while the first request is still being processed',
  },
  reads: {
    id: 'API11',
    title: 'a message can be found after a lost response',
    expected:
      'GET /conversations/search?locationId=…&contactId=… and GET /conversations/{id}/messages show a new message, or the Idempotency-Key is honoured',
    remedy: 'honour the Idempotency-Key, or implement the two reads as docs/crm.md describes them',
  },
  invalid: {
    id: 'API12',
    title: 'invalid requests are rejected with 4xx',
    expected:
      'a message without fields, and one for a contact that does not exist, get a status from 400 to 499',
    remedy: 'respond with 400, 404 or 422: a 5xx is retried for hours, and a 2xx hides a lost message',
  },
  rateLimit: {
    id: 'API13',
    title: 'a 429 says how long to wait',
    expected: 'every 429 has a Retry-After header',
    remedy: 'add Retry-After, in seconds, to every 429',
  },
  responseTime: {
    id: 'API14',
    title: 'responses take less than 10 seconds',
    expected: 'every response arrives within 10 s, ideally within 1 s; a later response counts as lost',
    remedy: 'respond as soon as the message is stored, and do any other work afterwards',
  },
  webhook: {
    id: 'HOOK1',
    title: 'webhooks arrive',
    expected: 'POST /crm/webhook (or /crm/webhook/imessage, /crm/webhook/sms) for each message',
    remedy:
      'set the delivery address of the CRM to the address above and check that it can be reached from the CRM',
  },
  signatureEncoding: {
    id: 'HOOK2',
    title: 'each webhook has a signature in strict base64',
    expected: 'one signature header in standard base64 with padding, of the length that the key implies',
    remedy: 'send the signature as standard base64 in the header for which your key is registered',
  },
  signature: {
    id: 'HOOK3',
    title: 'the signature matches the bytes of the body',
    expected: 'Ed25519, or RSA with SHA-256 and PKCS #1 v1.5, over exactly the bytes that are sent',
    remedy: 'serialise the body once, sign those bytes and send exactly those bytes',
  },
  contentType: {
    id: 'HOOK4',
    title: 'the body is one JSON object',
    expected: 'Content-Type: application/json, UTF-8, an object',
    remedy: 'send one JSON object, in UTF-8, with Content-Type: application/json',
  },
  fields: {
    id: 'HOOK5',
    title: 'the fields have their exact names',
    expected:
      'locationId, contactId, message, phone, attachments at the top level, as strings and lists of strings',
    remedy: 'use exactly these names at the top level; docs/crm.md has the table',
  },
  messageId: {
    id: 'HOOK6',
    title: 'each message has its own messageId',
    expected: 'a string of 1 to 256 characters that no other message has',
    remedy:
      'send your own id of the message as messageId: it identifies repeats and is used to report statuses',
  },
  type: {
    id: 'HOOK7',
    title: 'the type is SMS or absent',
    expected: '"type":"SMS", or no type',
    remedy: 'send "type":"SMS", and do not send other message types to this address',
  },
  text: {
    id: 'HOOK8',
    title: 'the text arrives unchanged',
    expected: 'message is exactly the text that was given to the CRM, with emoji, quotes and line breaks',
    remedy: 'pass the text on unchanged: no HTML escaping, no transliteration, no shortening',
  },
  once: {
    id: 'HOOK9',
    title: 'an accepted message is sent once',
    expected: 'no further request for a message after a 2xx',
    remedy: 'stop after the first 2xx; look for two workers or two subscriptions that send the same message',
  },
  retries: {
    id: 'HOOK10',
    title: 'a 503 is retried',
    expected: 'the same message again after HTTP 503',
    remedy: 'retry after 5xx, 429 and lost connections, with increasing delays',
  },
  sameBytes: {
    id: 'HOOK11',
    title: 'a retry is the same request',
    expected: 'the same messageId and text, ideally the same bytes',
    remedy:
      'store the request and send the same bytes again: with a different messageId the text would be sent twice',
  },
  retryAfter: {
    id: 'HOOK12',
    title: 'Retry-After is honoured',
    expected: 'after HTTP 429 with Retry-After: 5 the next request for the message comes after 5 s',
    remedy: 'wait for the number of seconds in Retry-After before you repeat the request',
  },
  badRequest: {
    id: 'HOOK13',
    title: 'a 400 is not retried',
    expected: 'no further request for a message after HTTP 400',
    remedy: 'treat 400 as final and show the message as failed: the same request fails again',
  },
  unauthorised: {
    id: 'HOOK14',
    title: 'a 401 is not retried',
    expected: 'no further request for a message after HTTP 401',
    remedy: 'treat 401 as final and tell the operator: the key or the signature is wrong',
  },
  footer: {
    id: 'HOOK15',
    title: 'a footer arrives unchanged',
    expected: 'a text with a reaction footer reaches the webhook with the footer that was given to the CRM',
    remedy: 'pass on the whole text, with its line breaks and everything from "-- svc-metadata:v1 --" on',
  },
  fileUrls: {
    id: 'HOOK16',
    title: 'attachments are a list of URLs',
    expected: '"attachments":["https://…"], strings with absolute http or https addresses',
    remedy: 'send the addresses as strings, not as objects, and make them reachable without a login',
  },
  time: {
    id: 'HOOK17',
    title: 'times are ISO 8601 or milliseconds',
    expected:
      'timestamp and dateAdded, where present, as ISO 8601 with a time zone or as milliseconds since 1970',
    remedy:
      'send times like 2026-01-31T12:00:00Z, or in milliseconds; a number of seconds is not read as a time',
  },
  statuses: {
    id: 'STATUS1',
    title: 'pending and delivered are accepted',
    expected:
      'PUT /conversations/messages/{messageId}/status with {"status":"pending"}, then {"status":"delivered"}, gets 2xx',
    remedy: 'accept the status of every message that your webhooks sent, and show it',
  },
  repeatedStatus: {
    id: 'STATUS2',
    title: 'a repeated status is accepted',
    expected: 'the same status again gets 2xx',
    remedy:
      'respond with 2xx to a status that the message already has: the response to the first one may have been lost',
  },
  lateStatus: {
    id: 'STATUS3',
    title: 'a late pending changes nothing',
    expected: 'a message that is delivered stays delivered when pending arrives afterwards',
    remedy: 'ignore pending for a message that is delivered or failed',
  },
  failedStatus: {
    id: 'STATUS4',
    title: 'failed with an unknown code is accepted',
    expected: '{"status":"failed","error":{"code":"…","type":"error","message":"…"}} gets 2xx for any code',
    remedy: 'accept every error.code and show error.message; new versions add codes',
  },
} as const satisfies Readonly<Record<string, Rule>>;

export type RuleName = keyof typeof RULES;
