import { generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { messageId } from './message-ids.ts';

/**
 * `signed`: what a CRM sends. `unsigned`: a signature header whose form already decides (`N/A`).
 * `forged`: a real signature by a key nobody trusts, so that only the whole verification can tell.
 */
export type Kind = 'signed' | 'unsigned' | 'forged';

export const BODY_BYTES = 600;

/** One whole HTTP request, ready to be written to a socket. */
export function webhookRequest(
  what: { run: number; index: number; locationId: string; kind: Kind },
  key: KeyObject,
): Buffer {
  const body = webhookBody(what);
  const head =
    'POST /crm/webhook HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nUser-Agent: bench\r\n' +
    `Content-Length: ${body.length}\r\nX-CRM-Signature: ${signature(what.kind, body, key)}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

function webhookBody(what: { run: number; index: number; locationId: string }): Buffer {
  const fields = {
    contactId: `contact${what.locationId}`,
    locationId: what.locationId,
    messageId: messageId(what.run, what.index),
    type: 'SMS',
    phone: phoneOf(what.locationId),
    userId: 'userOfTheBench',
    attachments: [],
    message: '',
  };
  const filler = 'The appointment is confirmed; reply STOP to end these texts. '.repeat(10);
  const missing = BODY_BYTES - JSON.stringify(fields).length;
  return Buffer.from(JSON.stringify({ ...fields, message: filler.slice(0, missing) }));
}

/** A number of its own for every location. */
export function phoneOf(locationId: string): string {
  const number = Number(/\d+$/.exec(locationId)?.[0] ?? 0);
  return `+1415${String(2_000_000 + number).padStart(7, '0')}`;
}

const stranger = generateKeyPairSync('ed25519').privateKey;

function signature(kind: Kind, body: Buffer, key: KeyObject): string {
  if (kind === 'unsigned') return 'N/A';
  return sign(null, body, kind === 'signed' ? key : stranger).toString('base64');
}
