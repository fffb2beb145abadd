import { errorCode } from '@footbridge/runtime/error-code';
import { pinnedTo } from '@footbridge/runtime/public-address';
import { Agent, request } from 'undici';

import { abortable, allowedAddresses, attemptSignal, NOT_ALLOWED } from './allowed-addresses.ts';
import { SEND_TIMEOUT_MS } from './alerts.ts';
import type { SendResult } from './alerts.ts';

export interface HttpTarget {
  readonly url: URL;
  readonly allowPrivate: boolean;
  readonly timeoutMs?: number;
}

/** Posts JSON once. Only a 2xx is a success. The connection is closed afterwards. */
export async function postJson(
  { url, allowPrivate, timeoutMs = SEND_TIMEOUT_MS }: HttpTarget,
  body: string,
  stopped: AbortSignal | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<SendResult> {
  const signal = attemptSignal(timeoutMs, stopped);
  let agent: Agent | undefined;
  try {
    const addresses = await abortable(allowedAddresses(url.hostname, allowPrivate), signal);
    if (addresses === null) return notSent(NOT_ALLOWED);
    agent = new Agent({ connect: { lookup: pinnedTo(addresses) }, pipelining: 0, maxHeaderSize: 16_384 });
    const response = await request(url, {
      dispatcher: agent,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'footbridge', ...headers },
      body,
      signal,
    });
    // The body is not read: closing the connection ends it, whatever its size.
    response.body.on('error', () => {});
    const { statusCode } = response;
    if (statusCode >= 200 && statusCode < 300) return { ok: true };
    if (statusCode >= 300 && statusCode < 400)
      return notSent(`the receiver redirects (${statusCode}); redirects are not followed`);
    return notSent(`the receiver responded with ${statusCode}`);
  } catch (error) {
    if (stopped?.aborted === true) return notSent('the service was stopped');
    if (signal.aborted) return notSent(`the receiver did not respond within ${timeoutMs / 1000} s`);
    return notSent(`the connection failed (${errorCode(error) ?? 'unknown error'})`);
  } finally {
    await agent?.destroy();
  }
}

const notSent = (reason: string): SendResult => ({ ok: false, reason });
