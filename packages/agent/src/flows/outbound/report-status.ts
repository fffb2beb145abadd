import type { RequestNames } from '@footbridge/protocol/frames';

import type { JobResult, Outbox } from '../../ports/journal/journal.ts';

/** Puts the status of a request into the outbox. An unknown outcome is reported as a failure. */
export function reportStatus(outbox: Outbox, request: RequestNames, result: JobResult, now: number): void {
  const { requestId, messageId } = request;
  const status = { type: 'message_status', requestId, messageId } as const;
  if (result.state === 'delivered') {
    const guid = result.guid === undefined ? {} : { guid: result.guid };
    outbox.put({ ...status, status: 'delivered', ...guid }, now);
  } else {
    outbox.put({ ...status, status: 'failed', error: result.error }, now);
  }
}
