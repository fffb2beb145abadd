import { setTimeout as sleep } from 'node:timers/promises';

import { Agent, request } from 'undici';

import { signedRequest } from '../keys.ts';
import type { SigningKey } from '../keys.ts';
import { compact, newId } from './values.ts';
import type { SentWebhook, WebhookFields, WebhookOptions } from './types.ts';

/** Returns a webhook body with generated values for missing fields. A field set to `undefined` is omitted. */
export function webhookBody(fields: WebhookFields): WebhookFields {
  return { contactId: newId(), messageId: newId(), type: 'SMS', userId: newId(), ...fields };
}

/** Signs the body and posts it to the bridge, retrying if `options.retries` is set. Returns the last attempt. */
export async function sendSigned(
  to: string,
  body: WebhookFields,
  key: SigningKey,
  options: WebhookOptions,
  record: (sent: SentWebhook) => void,
): Promise<SentWebhook> {
  const url = new URL(options.path ?? '/crm/webhook', to);
  const signed = signedRequest(options.raw ?? body, options.key ?? key, compact(options));
  const messageId = typeof body.messageId === 'string' ? body.messageId : undefined;
  for (let left = options.retries ?? 0; ; left--) {
    const sent = await post(url, signed, messageId);
    record(sent);
    const accepted = sent.status !== undefined && sent.status >= 200 && sent.status < 300;
    if (accepted || left <= 0) return sent;
    await sleep(options.retryDelayMs ?? 100);
  }
}

/**
 * Without a limit, a test that sends at a fixed rate opens thousands of connections when the machine is slow, and undici searches all of them
 * whenever one closes. The wait for a free connection is part of `ms` and of the timeout.
 */
const dispatcher = new Agent({ connections: 512 });

async function post(
  url: URL,
  signed: ReturnType<typeof signedRequest>,
  messageId: string | undefined,
): Promise<SentWebhook> {
  const at = Date.now();
  const started = performance.now();
  const sent = { messageId, body: signed.body.toString(), at };
  try {
    const signal = AbortSignal.timeout(30_000);
    const { statusCode, headers, body } = await request(url, { ...signed, dispatcher, signal });
    const answer = parsed(await body.text());
    const ms = performance.now() - started;
    return { ...sent, ms, status: statusCode, headers: asStrings(headers), answer };
  } catch (error) {
    return { ...sent, ms: performance.now() - started, error: reason(error) };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const asStrings = (headers: Readonly<Record<string, string | string[] | undefined>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));
