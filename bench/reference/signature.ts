import { createPublicKey, verify } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

import type { RequestHandler } from 'express';

import { settings } from './settings.ts';

const publicKey = createPublicKey(settings.CRM_PUBLIC_KEY);
const rawBodies = new WeakMap<IncomingMessage, Buffer>();

/** The `verify` callback of express.json. The signature covers the raw bytes, not the parsed body. */
export function keepRawBody(request: IncomingMessage, _response: unknown, raw: Buffer): void {
  rawBodies.set(request, raw);
}

export const requireSignature: RequestHandler = (request, response, next) => {
  const signature = request.header('x-crm-signature');
  const raw = rawBodies.get(request);
  const valid =
    signature !== undefined &&
    signature.length === 88 &&
    raw !== undefined &&
    verify(null, raw, publicKey, Buffer.from(signature, 'base64'));
  if (!valid) return response.status(401).json({ error: 'Invalid signature' });
  return next();
};
