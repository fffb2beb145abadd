import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { makeReaction } from '@footbridge/kit/make-reaction';

import { isAccepted } from './crm-api.ts';
import type { CrmApi } from './crm-api.ts';
import type { ReceivedWebhook, Script, WebhookListener } from './webhook-listener.ts';

export type MessageName =
  | 'plain'
  | 'footer'
  | 'file'
  | 'unavailable'
  | 'limited'
  | 'badRequest'
  | 'unauthorised';

/** A message that the CRM is asked to send, with the requests that arrived for it. */
export interface SentMessage {
  readonly name: MessageName;
  readonly text: string;
  readonly attachments?: readonly string[];
  readonly requests: readonly ReceivedWebhook[];
  /** Why the CRM could not be asked to send it. */
  readonly problem?: string;
}

export interface SendingDeps {
  readonly listener: WebhookListener;
  /** Asks the CRM to send a message; undefined if a person sends the messages. */
  readonly send: ((message: MessageToSend) => Promise<string | undefined>) | undefined;
  /** Shows a person which messages to send. */
  readonly instruct: (texts: readonly string[]) => void;
  readonly marker: string;
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

export interface MessageToSend {
  readonly message: string;
  readonly attachments?: readonly string[];
}

export const RETRY_AFTER_SEC = 5;
const PLAIN_TEXT = 'Grüße 👋🏽 “quoted” & <b>bold</b> \\ שלום\nsecond line';
const FILE = 'https://files.example.com/conformance/photo.png';
/** How long no request may arrive before a repeat is ruled out. */
const QUIET_MS = 3000;
const POLL_MS = 50;

const SCRIPTS: Readonly<Record<MessageName, Script>> = {
  plain: [{ status: 200 }],
  footer: [{ status: 200 }],
  file: [{ status: 200 }],
  unavailable: [{ status: 503 }, { status: 200 }],
  limited: [{ status: 429, retryAfterSec: RETRY_AFTER_SEC }, { status: 200 }],
  badRequest: [{ status: 400 }],
  unauthorised: [{ status: 401 }],
};
const EXPECTS_RETRY: ReadonlySet<MessageName> = new Set(['unavailable', 'limited']);

/** Makes the CRM send each message, and waits until every expected request has arrived. */
export async function exchangeMessages(deps: SendingDeps): Promise<ReadonlyMap<MessageName, SentMessage>> {
  const { listener, send, instruct, marker, waitMs, signal } = deps;
  const messages = Object.entries(SCRIPTS).flatMap(([key, script]) => {
    const name = key as MessageName;
    // A person cannot attach this file: its URL would differ.
    if (name === 'file' && send === undefined) return [];
    const own = `${marker}-${name}`;
    listener.expect(own, script);
    return [{ name, marker: own, ...contentOf(name, own) }];
  });
  const problems = new Map<MessageName, string>();
  if (send === undefined) instruct(messages.map(({ text }) => text));
  else
    await Promise.all(
      messages.map(async ({ name, text, attachments }) => {
        const problem = await send({ message: text, ...(attachments && { attachments }) });
        if (problem !== undefined) problems.set(name, problem);
      }),
    );
  const deadline = performance.now() + waitMs;
  const requestsOf = (name: MessageName) => listener.received(`${marker}-${name}`);
  while (performance.now() < deadline) {
    const now = performance.now();
    // A CRM that sends the webhook before it responds may fail the call although the webhook arrived.
    const open = messages.filter(({ name }) => !problems.has(name) || requestsOf(name).length > 0);
    if (open.every(({ name }) => isSettled(name, requestsOf, now))) break;
    await sleep(POLL_MS, undefined, { signal });
  }
  return new Map(
    messages.map(({ name, text, attachments }) => {
      const problem = problems.get(name);
      return [
        name,
        {
          name,
          text,
          ...(attachments && { attachments }),
          requests: requestsOf(name),
          ...(problem !== undefined && { problem }),
        },
      ];
    }),
  );
}

function contentOf(name: MessageName, marker: string): { text: string; attachments?: readonly string[] } {
  if (name === 'plain') return { text: `${marker} ${PLAIN_TEXT}` };
  if (name === 'file') return { text: `${marker} with a file`, attachments: [FILE] };
  if (name !== 'footer') return { text: `${marker} Hé 👋🏽` };
  const target = randomUUID().toUpperCase();
  return { text: makeReaction({ chatId: 42, target, kind: 'classic', type: 'love', text: marker }) };
}

/** Returns whether no further request is expected: judging by the retries of this CRM, a repeat would have arrived by now. */
function isSettled(
  name: MessageName,
  requestsOf: (name: MessageName) => readonly ReceivedWebhook[],
  now: number,
): boolean {
  const requests = requestsOf(name);
  const last = requests.at(-1);
  if (last === undefined) return false;
  if (EXPECTS_RETRY.has(name)) return requests.length > 1 && now - last.respondedAt > QUIET_MS;
  const [failed, retried] = requestsOf('unavailable');
  // Without a retry after the 503, the retry delay of this CRM is unknown.
  const pauseMs = failed === undefined || retried === undefined ? Infinity : retried.at - failed.respondedAt;
  const quietMs = last.status === 200 ? QUIET_MS : Math.max(QUIET_MS, 3 * pauseMs);
  return now - last.respondedAt > quietMs;
}

/** Returns a function that asks the CRM to send a message. It resolves with the problem, or with undefined. */
export function sendBy(
  api: CrmApi,
  url: string,
  recipient: { readonly locationId: string; readonly contactId: string | undefined; readonly phone: string },
): (message: MessageToSend) => Promise<string | undefined> {
  return async (message) => {
    const response = await api.call({
      method: 'POST',
      path: url,
      body: { type: 'SMS', ...recipient, ...message },
    });
    return isAccepted(response) ? undefined : api.describe(response);
  };
}
