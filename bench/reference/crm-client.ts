import { Agent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';

import { create, isAxiosError } from 'axios';

import { settings } from './settings.ts';

const http = create({
  baseURL: settings.CRM_URL,
  timeout: 10_000,
  maxRedirects: 0,
  httpAgent: new Agent({ keepAlive: true }),
  httpsAgent: new TlsAgent({ keepAlive: true }),
  headers: { Version: '2021-07-28' },
});

interface Token {
  readonly accessToken: string;
  readonly expiresAt: number;
}

const tokens = new Map<string, Promise<Token>>();

async function fetchToken(locationId: string): Promise<Token> {
  const { data } = await http.post(
    '/oauth/token',
    new URLSearchParams({ grant_type: 'authorization_code', code: locationId, user_type: 'Location' }),
  );
  return { accessToken: data.access_token, expiresAt: Date.now() + data.expires_in * 1000 };
}

/** Returns whether the CRM has ever issued a token for this location. */
export const hasGrant = (locationId: string): boolean => tokens.has(locationId);

async function accessToken(locationId: string): Promise<string> {
  const cached = await tokens.get(locationId);
  if (cached !== undefined && cached.expiresAt - 300_000 > Date.now()) return cached.accessToken;
  const fetched = fetchToken(locationId);
  tokens.set(locationId, fetched);
  return (await fetched).accessToken;
}

function isRetryable(error: unknown): boolean {
  if (!isAxiosError(error)) return false;
  const status = error.response?.status;
  return status === undefined || status === 429 || status >= 500;
}

async function withRetry<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (attempt === 4 || !isRetryable(error)) throw error;
      await sleep(250 * 2 ** attempt);
    }
  }
}

export interface StatusError {
  readonly code: string;
  readonly type: 'error';
  readonly message: string;
}

export async function updateStatus(
  locationId: string,
  messageId: string,
  status: 'pending' | 'delivered' | 'failed',
  error?: StatusError,
): Promise<void> {
  const token = await accessToken(locationId);
  await withRetry(() =>
    http.put(
      `/conversations/messages/${encodeURIComponent(messageId)}/status`,
      { status, error },
      { headers: { Authorization: `Bearer ${token}` } },
    ),
  );
}

export async function postInbound(message: {
  locationId: string;
  contactId: string;
  message: string;
  attachments?: string[] | undefined;
}): Promise<void> {
  const token = await accessToken(message.locationId);
  const { data } = await withRetry(() =>
    http.post(
      '/conversations/messages/inbound',
      { type: 'SMS', ...message },
      { headers: { Authorization: `Bearer ${token}` } },
    ),
  );
  if (typeof data.messageId !== 'string') throw new Error('The response of the CRM has no message id.');
}

const contacts = new Map<string, string>();

export async function contactOf(locationId: string, phone: string): Promise<string> {
  const cacheKey = `${locationId}:${phone}`;
  const cached = contacts.get(cacheKey);
  if (cached !== undefined) return cached;
  const token = await accessToken(locationId);
  const { data } = await withRetry(() =>
    http.get('/contacts/search/duplicate', {
      params: { locationId, number: phone },
      headers: { Authorization: `Bearer ${token}` },
    }),
  );
  const contactId: string = data.contact.id;
  contacts.set(cacheKey, contactId);
  return contactId;
}
