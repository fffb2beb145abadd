import { createHash } from 'node:crypto';

import type { RequestNames, SendFrame } from '@footbridge/protocol/frames';

import type { Job, JobResult, Journal, StatusError } from '../../ports/journal/journal.ts';
import { readRequest } from './read-request.ts';
import { reportStatus } from './report-status.ts';

/**
 * What happened to a new request (M2, M4).
 *
 * - `queued`: a job was queued for it.
 * - `joined`: a job for the same message is pending. The request gets its status when that job ends.
 * - `answered`: the message was sent before. The request got the same status again.
 * - `repeated`: the same request came again, because its confirmation got lost. Its status is in the outbox or was acknowledged.
 * - `rejected`: the request got a failure at once.
 */
export type AcceptResult = 'queued' | 'joined' | 'answered' | 'repeated' | 'rejected';

const QUEUE_FULL: StatusError = {
  code: 'RATE_LIMITED',
  message: 'The queue is full; try again in about 30 seconds.',
};
const MESSAGE_ID_REUSED: StatusError = {
  code: 'INVALID_FRAME',
  message: 'This messageId was already used for a different message. Nothing was sent.',
};

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
    if (known !== undefined && !isPending(known)) return 'repeated';
    const job = known ?? journal.jobs.find(key);
    if (job !== undefined && job.fingerprint !== fingerprint) {
      return reject(journal, frame, MESSAGE_ID_REUSED, now);
    }
    if (job !== undefined && isPending(job)) {
      journal.jobs.attachRequest(frame.requestId, job.key, now);
      return 'joined';
    }
    if (job !== undefined && !canRunAgain(job, frame)) {
      reportStatus(journal.outbox, frame, resultOf(job), now);
      return 'answered';
    }
    if (journal.jobs.pendingCount() >= limit) return rejectAsFailed(journal, frame, key, fingerprint, now);
    // The job looks at the present state before it presses again (F9), whatever it did before.
    if (job !== undefined && isReaction(frame)) journal.jobs.discardStep(job.key, 'press');
    journal.jobs.enqueue(key, fingerprint, frame, now);
    journal.jobs.attachRequest(frame.requestId, key, now);
    return 'queued';
  });
}

/** Leaves an ended job behind, so that the same request, sent again, is not queued after its failure was reported. */
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
  journal.jobs.end(key, { state: 'failed', error: QUEUE_FULL }, now);
  return reject(journal, frame, QUEUE_FULL, now);
}

/** The agent ended twice while it worked on this message (I10). */
export const SET_ASIDE: StatusError = {
  code: 'SET_ASIDE',
  message:
    'The agent on the Mac ended twice while it worked on this message. It was set aside; the operator can allow another attempt.',
};

/** Reports a failure for a request whose message was set aside. */
export function rejectSetAside(request: RequestNames, journal: Journal, now: number): void {
  reject(journal, request, SET_ASIDE, now);
}

/** Reports a failure for a request that cannot be parsed. */
export function rejectInvalid(request: RequestNames, reason: string, journal: Journal, now: number): void {
  const message = `The request is invalid: ${reason}. Nothing was sent.`;
  reject(journal, request, { code: 'INVALID_FRAME', message }, now);
}

function isPending(job: Job): boolean {
  return job.state === 'queued' || job.state === 'begun';
}

/** A failed job can run again. So can a reaction: its requested state may have changed since, and restoring it is idempotent. */
function canRunAgain(job: Job, frame: SendFrame): boolean {
  return job.state === 'failed' || isReaction(frame);
}

function isReaction(frame: SendFrame): boolean {
  const request = readRequest(frame);
  return 'kind' in request && request.kind === 'reaction';
}

function resultOf(job: Job): JobResult {
  if (job.state === 'delivered') return { state: 'delivered', guid: job.guid };
  return { state: 'unknown', error: job.error ?? { code: 'INTERNAL_ERROR', message: 'outcome unknown' } };
}

function reject(journal: Journal, request: RequestNames, error: StatusError, now: number): AcceptResult {
  reportStatus(journal.outbox, request, { state: 'failed', error }, now);
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
