import { createHash } from 'node:crypto';

import type { RequestNames, SendFrame } from '@footbridge/protocol/frames';

import type { Journal } from '../../journal/journal.ts';
import { failed } from '../../outcome.ts';
import type { Failed, JobOutcome } from '../../outcome.ts';
import { readRequest } from './read-request.ts';
import { reportStatus } from './report-status.ts';

/**
 * What happened to a new request (M2, M4).
 *
 * - `queued`: a job was queued for it.
 * - `joined`: a job for the same message is pending. The request gets its status when that job ends.
 * - `answered`: the message was sent before. The request got the same status again.
 * - `repeated`: the same request came again, because its confirmation was lost. Its status is in the outbox or was acknowledged.
 * - `rejected`: the request got a failure at once.
 */
export type AcceptResult = 'queued' | 'joined' | 'answered' | 'repeated' | 'rejected';

const QUEUE_FULL = failed('RATE_LIMITED', 'The queue is full; try again in about 30 seconds.');
const MESSAGE_ID_REUSED = failed(
  'INVALID_FRAME',
  'This messageId was already used for a different message. Nothing was sent.',
);

/** Queues a request unless its `messageId` is already known. Durable when it returns. */
export function acceptRequest(
  frame: SendFrame,
  journal: Journal,
  options: { readonly limit: number; readonly now: number },
): AcceptResult {
  const { limit, now } = options;
  return journal.durableTransaction(() => {
    const key = jobKey(frame);
    const fingerprint = fingerprintOf(frame);
    const known = journal.jobs.findByRequest(frame.requestId);
    if (known?.outcome !== undefined) return 'repeated';
    const job = known ?? journal.jobs.find(key);
    if (job !== undefined && job.fingerprint !== fingerprint) {
      return reject(journal, frame, MESSAGE_ID_REUSED, now);
    }
    if (job !== undefined && job.outcome === undefined) {
      journal.jobs.attachRequest(frame.requestId, job.key, now);
      return 'joined';
    }
    if (job?.outcome !== undefined && !canRunAgain(job.outcome, frame)) {
      reportStatus(journal.outbox, frame, job.outcome, now);
      return 'answered';
    }
    if (journal.jobs.pendingCount() >= limit) return rejectAsFailed(journal, frame, key, fingerprint, now);
    // Whatever the job did before, it checks the present state before it presses again (F9).
    if (job !== undefined && isReaction(frame)) journal.jobs.discardStep(job.key, 'press');
    journal.jobs.enqueue(key, fingerprint, frame, now);
    journal.jobs.attachRequest(frame.requestId, key, now);
    return 'queued';
  });
}

/** Leaves an ended job in the journal, so that a repetition of this request is not queued after its failure was reported. */
function rejectAsFailed(
  journal: Journal,
  frame: SendFrame,
  key: string,
  fingerprint: string,
  now: number,
): AcceptResult {
  journal.jobs.enqueue(key, fingerprint, frame, now);
  journal.jobs.attachRequest(frame.requestId, key, now);
  journal.jobs.takeUnanswered(key);
  journal.jobs.end(key, QUEUE_FULL, now);
  return reject(journal, frame, QUEUE_FULL, now);
}

/** The outcome of a message that crashed the agent twice (I10). */
export const SET_ASIDE = failed(
  'SET_ASIDE',
  'The agent on the Mac ended twice while it worked on this message. It was set aside; the operator can allow another attempt.',
);

/** Reports a failure for a request whose message was set aside. */
export function rejectSetAside(request: RequestNames, journal: Journal, now: number): void {
  reject(journal, request, SET_ASIDE, now);
}

/** Reports a failure for a request that cannot be parsed. */
export function rejectInvalid(request: RequestNames, reason: string, journal: Journal, now: number): void {
  const message = `The request is invalid: ${reason}. Nothing was sent.`;
  reject(journal, request, failed('INVALID_FRAME', message), now);
}

/** A failed job can run again. So can a reaction: its requested state may have changed since, and restoring it is idempotent. */
function canRunAgain({ state }: JobOutcome, frame: SendFrame): boolean {
  return state === 'failed' || isReaction(frame);
}

function isReaction(frame: SendFrame): boolean {
  const request = readRequest(frame);
  return 'kind' in request && request.kind === 'reaction';
}

function reject(journal: Journal, request: RequestNames, failure: Failed, now: number): AcceptResult {
  reportStatus(journal.outbox, request, failure, now);
  return 'rejected';
}

/** Requests without a `messageId` cannot be deduplicated: each is a separate message. */
export function jobKey({ requestId, messageId }: RequestNames): string {
  return messageId === null ? `request ${requestId}` : `message ${messageId}`;
}

/** Excludes the channel: a message that failed as iMessage can be sent as SMS with the same id. */
function fingerprintOf(frame: SendFrame): string {
  const content = JSON.stringify([frame.phone, frame.message, frame.attachments]);
  return createHash('sha256').update(content).digest('base64url');
}
