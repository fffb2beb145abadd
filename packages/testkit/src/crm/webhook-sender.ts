import { setTimeout as sleep } from 'node:timers/promises';
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
  const request = signedRequest(options.raw ?? body, options.key ?? key, compact(options));
  const messageId = typeof body.messageId === 'string' ? body.messageId : undefined;
  for (let left = options.retries ?? 0; ; left--) {
    const sent = await post(url, request, messageId);
    record(sent);
    const accepted = sent.status !== undefined && sent.status >= 200 && sent.status < 300;
    if (accepted || left <= 0) return sent;
    await sleep(options.retryDelayMs ?? 100);
  }
}

async function post(
  url: URL,
  request: ReturnType<typeof signedRequest>,
  messageId: string | undefined,
): Promise<SentWebhook> {
  const at = Date.now();
  const started = performance.now();
  const sent = { messageId, body: request.body.toString(), at };
  try {
    const response = await fetch(url, {
      ...request,
      redirect: 'manual',
      signal: AbortSignal.timeout(30_000),
    });
    const answer = parsed(await response.text());
    const ms = performance.now() - started;
    return { ...sent, ms, status: response.status, headers: Object.fromEntries(response.headers), answer };
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

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
