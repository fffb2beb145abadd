// The floor: the least code that does the work. One key, no limits, no logs, no retries, no persistence.
// With FAST_PARTS it uses the fastest available libraries: libsodium, and undici's dispatcher. With DURABLE, the path of a database
// file, it records every inbound message on disk before and after the call to the CRM, so that a crash neither loses nor duplicates it.
import { createPublicKey, randomUUID, verify as opensslVerify } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';

import { Agent, request } from 'undici';
import { WebSocketServer } from 'ws';
import type { RawData, WebSocket } from 'ws';

const crm = process.env['CRM_URL'] ?? '';
const key = createPublicKey(process.env['CRM_PUBLIC_KEY'] ?? '');
const rawKey = key.export({ type: 'spki', format: 'der' }).subarray(-32);
const fast = process.env['FAST_PARTS'] !== undefined;
const sodium = fast ? (await import('sodium-native')).default : undefined;
const dispatcher = new Agent({ connections: 256, ...(fast && { headersTimeout: 0, bodyTimeout: 0 }) });
const claims = process.env['DURABLE'] === undefined ? undefined : openClaims(process.env['DURABLE']);
const macs = new Map<string, WebSocket>();
const pending = new Map<string, Promise<void>>();
const contacts = new Map<string, string>();
const seen = new Set<string>();

function openClaims(file: string) {
  const database = new DatabaseSync(file);
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;' +
      'CREATE TABLE claims (guid TEXT PRIMARY KEY, claimed_at INTEGER NOT NULL, marked_at INTEGER)',
  );
  const claim = database.prepare('INSERT INTO claims (guid, claimed_at) VALUES (?, ?)');
  const mark = database.prepare('UPDATE claims SET marked_at = ? WHERE guid = ?');
  return {
    claim: (guid: string) => claim.run(guid, Date.now()),
    mark: (guid: string) => mark.run(Date.now(), guid),
  };
}

const verify = (body: Buffer, signature: Buffer): boolean =>
  sodium?.crypto_sign_verify_detached(signature, body, rawKey) ?? opensslVerify(null, body, key, signature);

async function call(method: 'PUT' | 'POST', path: string, locationId: string, body: object): Promise<void> {
  const headers = {
    authorization: `Bearer access.${locationId}`,
    version: '2021-07-28',
    'content-type': 'application/json',
  };
  const status = await (fast ? sendWithDispatch : sendWithRequest)({
    method,
    path,
    headers,
    body: JSON.stringify(body),
  });
  if (status >= 300) throw new Error(`The CRM responded with ${status}.`);
}

interface CrmCall {
  readonly method: 'PUT' | 'POST';
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

async function sendWithRequest({ path, ...rest }: CrmCall): Promise<number> {
  const response = await request(crm + path, { dispatcher, ...rest });
  await response.body.dump();
  return response.statusCode;
}

function sendWithDispatch(crmCall: CrmCall): Promise<number> {
  return new Promise((resolve, reject) => {
    let status = 0;
    dispatcher.dispatch(
      { origin: crm, ...crmCall },
      {
        onRequestStart() {},
        onResponseStart(_controller, code) {
          status = code;
        },
        onResponseData() {},
        onResponseEnd: () => resolve(status),
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
}

const setStatus = (messageId: string, locationId: string, status: 'pending' | 'delivered') =>
  call('PUT', `/conversations/messages/${encodeURIComponent(messageId)}/status`, locationId, { status });

function respond(response: ServerResponse, status: number, body: object): void {
  const json = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
  });
  response.end(json);
}

function handleWebhook(raw: Buffer, headers: IncomingMessage['headers'], response: ServerResponse): void {
  const signature = headers['x-crm-signature'];
  if (typeof signature !== 'string' || signature.length !== 88)
    return respond(response, 401, { error: 'Invalid signature' });
  if (!verify(raw, Buffer.from(signature, 'base64')))
    return respond(response, 401, { error: 'Invalid signature' });
  const { locationId, contactId, phone, message, messageId } = JSON.parse(raw.toString());
  if (
    typeof locationId !== 'string' ||
    typeof contactId !== 'string' ||
    typeof phone !== 'string' ||
    typeof message !== 'string'
  )
    return respond(response, 400, { code: 'MISSING_REQUIRED_FIELDS' });
  const mac = macs.get(locationId);
  if (mac === undefined) return respond(response, 404, { code: 'LOCATION_NOT_CONNECTED', locationId });
  const requestId = randomUUID();
  mac.send(
    JSON.stringify({
      type: 'send',
      requestId,
      messageId,
      contactId,
      phone,
      message,
      attachments: [],
      channel: 'imessage',
    }),
  );
  respond(response, 200, {
    status: 'success',
    requestId,
    message: 'Sent to iMessage',
    messageId,
    locationId,
  });
  pending.set(requestId, setStatus(messageId, locationId, 'pending'));
}

const server = createServer((incoming, response) => {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () => {
    const [only] = chunks;
    handleWebhook(chunks.length === 1 && only ? only : Buffer.concat(chunks), incoming.headers, response);
  });
});

async function handleFrame(mac: WebSocket, locationId: string, frame: Frame): Promise<void> {
  // The floor does not send a frame again, so it ignores the confirmation.
  if (frame.type === 'received') return;
  if (frame.type === 'message_status') {
    await pending.get(frame.requestId);
    pending.delete(frame.requestId);
    await setStatus(frame.messageId, locationId, 'delivered');
  } else {
    const { guid, sender, text } = frame;
    if (!seen.has(guid)) {
      seen.add(guid);
      claims?.claim(guid);
      const contactId = contacts.get(locationId + sender) ?? (await findContact(locationId, sender));
      await call('POST', '/conversations/messages/inbound', locationId, {
        type: 'SMS',
        contactId,
        locationId,
        message: text,
      });
      claims?.mark(guid);
    }
  }
  mac.send(JSON.stringify({ type: 'ack', seq: frame.seq, outcome: 'delivered' }));
}

async function findContact(locationId: string, sender: string): Promise<string> {
  const path = `/contacts/search/duplicate?locationId=${locationId}&number=${encodeURIComponent(sender)}`;
  const found = await request(crm + path, { dispatcher, headers: { version: '2021-07-28' } });
  const { contact } = (await found.body.json()) as { contact: { id: string } };
  contacts.set(locationId + sender, contact.id);
  return contact.id;
}

type Frame =
  | { type: 'received'; requestId: string }
  | { type: 'message_status'; seq: number; requestId: string; messageId: string }
  | { type: 'message_received'; seq: number; guid: string; sender: string; text: string };

// ws provides Buffers by default.
const readFrame = (data: RawData) => JSON.parse(Buffer.isBuffer(data) ? data.toString() : '{}');

new WebSocketServer({ server, path: '/mac/socket', perMessageDeflate: false }).on('connection', (mac) => {
  mac.once('message', (first) => {
    const { locationId } = readFrame(first);
    macs.set(locationId, mac);
    mac.on('message', (data) => void handleFrame(mac, locationId, readFrame(data)));
    mac.send(JSON.stringify({ type: 'registered', locationId, sessionId: randomUUID(), window: 64 }));
  });
});

process.on('SIGTERM', () => process.exit(0));
server.keepAliveTimeout = 60_000;
server.listen(Number(process.env['PORT']), '127.0.0.1');
