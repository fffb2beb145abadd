import { createHash } from 'node:crypto';

import type { RequestNames, SendFrame } from '@footbridge/protocol/frames';

import type { StatusError, Job, Journal } from '../../ports/journal/journal.ts';
import { readRequest } from './read-request.ts';

/**
 * What becomes of a request that just arrived (M2, M4).
 *
 * `queued`: it waits for its turn · `joined`: the same message is in the queue already and answers this request too ·
 * `answered`: it had ended before, and is not done twice · `refused`: it gets its failure at once.
 */
export type Accepted = 'queued' | 'joined' | 'answered' | 'refused';

const FULL: StatusError = {
  code: 'RATE_LIMITED',
  message: 'The queue is full; try again in about 30 seconds.',
};
const ANOTHER: StatusError = {
  code: 'INVALID_FRAME',
  message: 'This messageId was used before for another message. Nothing was sent.',
};

export function acceptRequest(
  frame: SendFrame,
  journal: Journal,
  options: { readonly limit: number; readonly now: number },
): Accepted {
  const { limit, now } = options;
  return journal.durableTransaction(() => {
    const key = keyOf(frame);
    const fingerprint = fingerprintOf(frame);
    const job = journal.jobs.findByRequest(frame.requestId) ?? journal.jobs.find(key);
    if (job !== undefined && job.fingerprint !== fingerprint) return refuse(journal, frame, ANOTHER, now);
    if (job !== undefined && isWaiting(job)) {
      journal.jobs.attachRequest(frame.requestId, job.key, now);
      return 'joined';
    }
    if (job !== undefined && !mayRunAgain(job, frame)) return answerAgain(journal, job, frame, now);
    if (journal.jobs.pendingCount() >= limit) return refuse(journal, frame, FULL, now);
    // A press that may or may not have happened is looked up in the store before it is made again (F9).
    if (job?.state === 'unknown') journal.jobs.discardStep(job.key, 'press');
    journal.jobs.enqueue(key, fingerprint, frame, now);
    journal.jobs.attachRequest(frame.requestId, key, now);
    return 'queued';
  });
}

export function refuseUnreadable(request: RequestNames, reason: string, journal: Journal, now: number): void {
  const message = `This Mac cannot read the request: ${reason}. Nothing was sent.`;
  refuse(journal, request, { code: 'INVALID_FRAME', message }, now);
}

function isWaiting(job: Job): boolean {
  return job.state === 'queued' || job.state === 'begun';
}

/** What failed may be tried again. What may have been received may not, unless repeating is safe by nature. */
function mayRunAgain(job: Job, frame: SendFrame): boolean {
  if (job.state === 'failed') return true;
  if (job.state !== 'unknown') return false;
  const work = readRequest(frame);
  return 'kind' in work && work.kind === 'reaction';
}

function answerAgain(journal: Journal, job: Job, frame: SendFrame, now: number): Accepted {
  const common = { type: 'message_status', requestId: frame.requestId, messageId: frame.messageId } as const;
  if (job.state === 'delivered') {
    const guid = job.guid === undefined ? {} : { guid: job.guid };
    journal.outbox.put({ ...common, status: 'delivered', ...guid }, now);
  } else {
    const error = job.error ?? { code: 'INTERNAL_ERROR', message: 'outcome unknown' };
    journal.outbox.put({ ...common, status: 'failed', error }, now);
  }
  return 'answered';
}

function refuse(journal: Journal, request: RequestNames, error: StatusError, now: number): Accepted {
  const { requestId, messageId } = request;
  journal.outbox.put({ type: 'message_status', requestId, messageId, status: 'failed', error }, now);
  return 'refused';
}

/** Without a `messageId` a repeat cannot be told apart: every request is a message of its own. */
function keyOf(frame: SendFrame): string {
  return frame.messageId === null ? `request ${frame.requestId}` : `message ${frame.messageId}`;
}

/** The channel is left out: what failed as iMessage may be sent again as SMS under the same id. */
function fingerprintOf(frame: SendFrame): string {
  const told = JSON.stringify([frame.phone, frame.message, frame.attachments]);
  return createHash('sha256').update(told).digest('base64url');
}
