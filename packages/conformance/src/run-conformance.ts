import { randomBytes } from 'node:crypto';

import type { CandidateKey } from '@footbridge/runtime/diagnose-signature';

import { notTried } from './check.ts';
import type { CheckResult } from './check.ts';
import { createRun } from './conformance-run.ts';
import { createCrmApi } from './crm-api.ts';
import type { Person } from './person.ts';
import { checkReceiving, checkResponseTime } from './receiving-checks.ts';
import { createRedact } from './redact.ts';
import { checkSending, SENDING_RULES } from './sending-checks.ts';
import { exchangeMessages, sendBy } from './sent-messages.ts';
import { checkStatuses } from './status-checks.ts';
import { createStoredMessages } from './stored-messages.ts';
import type { WebhookListener } from './webhook-listener.ts';

export interface ConformanceOptions {
  /** The address of the CRM's API; undefined checks only what the CRM sends. */
  readonly crm: string | undefined;
  readonly token: string | undefined;
  readonly locationId: string;
  readonly contactId: string | undefined;
  readonly phone: string;
  readonly type: string;
  readonly conversationProviderId: string | undefined;
  readonly apiVersion: string;
  readonly burst: number;
  readonly listUrl: string | undefined;
  readonly statusUrl: string | undefined;
  readonly messageIds: readonly string[];
  readonly sendUrl: string | undefined;
  /** Receives webhooks; undefined checks only what the CRM receives. */
  readonly listener: WebhookListener | undefined;
  readonly key: CandidateKey | undefined;
  readonly header: string;
  readonly waitMs: number;
  readonly timeoutMs: number;
  readonly person: Person;
  /** Shows the person which texts to send. */
  readonly instruct: (texts: readonly string[]) => void;
  readonly onResult: (result: CheckResult) => void;
  readonly signal: AbortSignal;
}

/** Checks a CRM in both directions: the calls that it receives, the webhooks that it sends, and the statuses of its messages. */
export async function runConformance(options: ConformanceOptions): Promise<readonly CheckResult[]> {
  const { crm, token, phone, locationId, listener, sendUrl, timeoutMs } = options;
  const run = createRun(options.onResult);
  const redact = createRedact([token ?? '', phone]);
  const url = crm ?? new URL(sendUrl ?? 'http://localhost').origin;
  const api = createCrmApi({ ...options, url, redact });
  const stored = createStoredMessages({ ...options, api });
  const marker = `fbc${randomBytes(4).toString('hex')}`;
  let { contactId, messageIds } = options;

  if (crm !== undefined)
    contactId = (await checkReceiving({ ...options, run, api, stored, marker })) ?? contactId;
  if (listener !== undefined) {
    if (sendUrl === undefined && !options.person.isPresent)
      await run.skip(
        SENDING_RULES,
        notTried(
          'the CRM cannot be made to send messages: no --send-url and no terminal',
          'pass --send-url with the address that makes the CRM send a message, or run this in a terminal and send the messages yourself',
        ),
      );
    else {
      const send = sendUrl === undefined ? undefined : sendBy(api, sendUrl, { locationId, contactId, phone });
      const messages = await exchangeMessages({ ...options, listener, send, marker });
      const ids = await checkSending({
        ...options,
        contactId,
        run,
        messages,
        strays: listener.strays,
        redact,
      });
      messageIds = [...messageIds, ...ids];
    }
  }
  if (crm !== undefined) {
    await checkStatuses({ ...options, run, api, stored, messageIds });
    await run.check('responseTime', () => checkResponseTime(api, timeoutMs));
  }
  return run.results;
}
