import { generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { messageId } from './message-ids.ts';

/**
 * `signed`: a valid request. `unsigned`: the signature header is `N/A`, which the format check rejects. `forged`: a
 * signature by an untrusted key, which only the full verification rejects.
 */
export type Kind = 'signed' | 'unsigned' | 'forged';

export const BODY_BYTES = 600;

/** Returns a complete HTTP request as bytes. */
export function webhookRequest(
  message: { run: number; index: number; locationId: string; kind: Kind },
  key: KeyObject,
): Buffer {
  const body = webhookBody(message);
  const head =
    'POST /crm/webhook HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nUser-Agent: bench\r\n' +
    `Content-Length: ${body.length}\r\nX-CRM-Signature: ${signature(message.kind, body, key)}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

function webhookBody({ run, index, locationId }: { run: number; index: number; locationId: string }): Buffer {
  const fields = {
    contactId: `contact${locationId}`,
    locationId,
    messageId: messageId(run, index),
    type: 'SMS',
    phone: phoneOf(locationId),
    userId: 'userOfTheBench',
    attachments: [],
    message: '',
  };
  const filler = 'The appointment is confirmed; reply STOP to end these texts. '.repeat(10);
  const missing = BODY_BYTES - JSON.stringify(fields).length;
  return Buffer.from(JSON.stringify({ ...fields, message: filler.slice(0, missing) }));
}

/** Returns a different phone number for every location. */
export function phoneOf(locationId: string): string {
  const number = Number(/\d+$/.exec(locationId)?.[0] ?? 0);
  return `+1415${String(2_000_000 + number).padStart(7, '0')}`;
}

const untrustedKey = generateKeyPairSync('ed25519').privateKey;

function signature(kind: Kind, body: Buffer, key: KeyObject): string {
  if (kind === 'unsigned') return 'N/A';
  return sign(null, body, kind === 'signed' ? key : untrustedKey).toString('base64');
}
