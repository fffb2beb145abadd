import type { RequestNames } from '@footbridge/protocol/frames';

import type { Outbox } from '../../journal/journal.ts';
import type { JobOutcome } from '../../outcome.ts';

/** Puts the status of a request into the outbox. An unknown outcome is reported as a failure. */
export function reportStatus(outbox: Outbox, request: RequestNames, outcome: JobOutcome, now: number): void {
  const { requestId, messageId } = request;
  const status = { type: 'message_status', requestId, messageId } as const;
  if (outcome.state === 'delivered') {
    const guid = outcome.guid === undefined ? {} : { guid: outcome.guid };
    outbox.put({ ...status, status: 'delivered', ...guid }, now);
  } else {
    const { code, message } = outcome;
    outbox.put({ ...status, status: 'failed', error: { code, message } }, now);
  }
}
