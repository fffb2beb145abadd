import { Socket } from 'node:net';

import { errorCode } from '@footbridge/runtime/error-code';

import { abortable, allowedAddresses, attemptSignal, NOT_ALLOWED } from './allowed-addresses.ts';
import { SEND_TIMEOUT_MS } from './alerts.ts';
import type { Alert, AlertReceiver, SendResult } from './alerts.ts';
import { renderAlert } from './render-alert.ts';

export interface SmtpTarget {
  /** `smtp://` or `smtps://`, with user name and password if the server requires them. */
  readonly url: URL;
  readonly from: string;
  readonly to: readonly string[];
  readonly allowPrivate: boolean;
  readonly timeoutMs?: number;
}

const PORTS: Readonly<Record<string, number>> = { 'smtp:': 587, 'smtps:': 465 };

/**
 * Sends alerts by e-mail. `smtps:` uses TLS from the start; `smtp:` uses STARTTLS if the server offers it, and requires it before it sends
 * a password.
 */
export function createSmtpReceiver(target: SmtpTarget): AlertReceiver {
  return {
    name: 'email',
    target: target.url.host,
    send: (alert, stopped) => sendMail(target, alert, stopped),
  };
}

async function sendMail(
  { url, from, to, allowPrivate, timeoutMs = SEND_TIMEOUT_MS }: SmtpTarget,
  alert: Alert,
  stopped: AbortSignal | undefined,
): Promise<SendResult> {
  const signal = attemptSignal(timeoutMs, stopped);
  const socket = new Socket();
  try {
    const addresses = await abortable(allowedAddresses(url.hostname, allowPrivate), signal);
    const host = addresses?.[0];
    if (host === undefined) return notSent(NOT_ALLOWED);
    // Loaded on demand, because it costs startup time and memory.
    const { createTransport } = await import('nodemailer');
    const transport = createTransport({
      host,
      port: url.port === '' ? (PORTS[url.protocol] ?? 587) : Number(url.port),
      secure: url.protocol === 'smtps:',
      servername: url.hostname,
      socket,
      requireTLS: url.password !== '',
      ...(url.username !== '' && {
        auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
      }),
    });
    const { title, lines } = renderAlert(alert);
    await abortable(
      transport.sendMail({
        from,
        to: [...to],
        subject: `[Footbridge] ${title}`,
        text: [title, '', ...lines].join('\n'),
        messageId: `<${alert.id}@footbridge>`,
        date: new Date(alert.at),
        headers: { 'Auto-Submitted': 'auto-generated' },
        disableFileAccess: true,
        disableUrlAccess: true,
      }),
      signal,
    );
    return { ok: true };
  } catch (error) {
    if (stopped?.aborted === true) return notSent('the service was stopped');
    if (signal.aborted) return notSent(`the mail server did not respond within ${timeoutMs / 1000} s`);
    const code = error instanceof Error && 'responseCode' in error ? Number(error.responseCode) : Number.NaN;
    return notSent(
      Number.isNaN(code)
        ? `the connection to the mail server failed (${errorCode(error) ?? 'unknown error'})`
        : `the mail server responded with ${code}`,
    );
  } finally {
    socket.destroy();
  }
}

const notSent = (reason: string): SendResult => ({ ok: false, reason });
