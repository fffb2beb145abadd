import type { RequestNames, SendFrame } from '@footbridge/protocol/frames';

import type { Clock } from '../../clock.ts';
import type { Failpoint } from '../../failpoint.ts';
import { acceptRequest, refuseUnreadable } from './accept-request.ts';
import type { Outcome } from './outcome.ts';
import type { Log } from '../../log.ts';
import type { Job, JobResult, Journal } from '../../ports/journal/journal.ts';

const MAX_MESSAGE = 1000;
const JOURNAL_RETRY_MS = 1_000;

const INTERRUPTED: JobResult = {
  state: 'unknown',
  error: {
    code: 'INTERNAL_ERROR',
    message:
      'outcome unknown: the agent was interrupted while it sent this message; it is not sent again under this messageId',
  },
};

export interface QueueParts {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: Failpoint;
  /** Jobs that may wait, the one under way included (M2). */
  readonly limit: number;
  /** Pause between two jobs: accounts that write too fast are taken for spam. */
  readonly gapMs: number;
  readonly perform: (job: Job, frame: SendFrame) => Promise<Outcome>;
  /** Frames for the service are in the outbox. */
  readonly onFrames: () => void;
}

/** The one queue for everything that goes out: first in, first out, one at a time. It lives in the journal. */
export class Queue {
  readonly #parts: QueueParts;
  readonly #stopping = new AbortController();
  #wake: (() => void) | undefined;
  #running: Promise<void> | undefined;

  constructor(parts: QueueParts) {
    this.#parts = parts;
  }

  /** Takes up what a process left behind that died, then works until `stop`. */
  start(): void {
    this.#recover();
    this.#running = this.#run();
  }

  accept(frame: SendFrame): void {
    const { journal, clock, log, limit, failpoint, onFrames } = this.#parts;
    failpoint('accept.before');
    const accepted = acceptRequest(frame, journal, { limit, now: clock.now() });
    failpoint('accept.after');
    const { requestId, messageId, channel } = frame;
    log.info({ requestId, messageId, channel, accepted, depth: this.depth() }, 'request accepted');
    if (accepted === 'queued') this.#wake?.();
    if (accepted === 'answered' || accepted === 'refused') onFrames();
  }

  /** A request that cannot be read is answered without entering the queue. */
  refuse(request: RequestNames, reason: string): void {
    const { journal, clock, onFrames } = this.#parts;
    refuseUnreadable(request, reason, journal, clock.now());
    onFrames();
  }

  depth(): number {
    return this.#parts.journal.jobs.pendingCount();
  }

  /** Waits for the job under way: cutting it off would make its outcome unknown. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake?.();
    await this.#running;
  }

  #recover(): void {
    const { journal, log } = this.#parts;
    for (const job of journal.jobs.interrupted()) {
      if (journal.jobs.unfinishedSteps(job.key).length === 0) {
        journal.jobs.requeue(job.key);
      } else {
        log.warn(
          { messageId: job.messageId },
          'a message was being sent when the agent died: outcome unknown',
        );
        this.#end(job, INTERRUPTED);
      }
    }
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#parts;
    const { signal } = this.#stopping;
    let isSound = true;
    while (!signal.aborted) {
      try {
        // What a full disk left half-done is judged as after a crash: nothing is sent twice.
        if (!isSound) this.#recover();
        isSound = true;
        await this.#doNext(signal);
      } catch (error) {
        isSound = false;
        log.error({ err: error }, 'the journal cannot be written; the queue waits until it can');
        await clock.sleep(JOURNAL_RETRY_MS, signal);
      }
    }
  }

  async #doNext(signal: AbortSignal): Promise<void> {
    const { journal, clock, gapMs } = this.#parts;
    const job = journal.jobs.next();
    if (job === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
      return;
    }
    await this.#do(job);
    if (gapMs > 0) await clock.sleep(gapMs, signal);
  }

  async #do(job: Job): Promise<void> {
    const { journal, clock, log, failpoint } = this.#parts;
    const started = clock.monotonic();
    journal.jobs.begin(job.key);
    failpoint('job.begun');
    const end = await this.#perform(job);
    failpoint('job.performed');
    this.#end(job, end);
    failpoint('job.ended');
    const code = end.state === 'delivered' ? undefined : end.error.code;
    const tookMs = Math.round(clock.monotonic() - started);
    log.info({ messageId: job.messageId, state: end.state, code, tookMs, depth: this.depth() }, 'job ended');
  }

  async #perform(job: Job): Promise<JobResult> {
    const { perform, journal, log } = this.#parts;
    try {
      if (job.frame === undefined) throw new Error('The journal holds a job without its request');
      return endOf(await perform(job, job.frame));
    } catch (error) {
      log.error({ err: error, messageId: job.messageId }, 'a job failed unexpectedly');
      const began = journal.jobs.unfinishedSteps(job.key).length > 0;
      const message = began ? 'outcome unknown: an unexpected error while sending' : 'an unexpected error';
      return { state: began ? 'unknown' : 'failed', error: { code: 'INTERNAL_ERROR', message } };
    }
  }

  /** The end of the job and the news of it are one write: neither can be lost without the other. */
  #end(job: Job, end: JobResult): void {
    const { journal, clock, onFrames } = this.#parts;
    journal.durableTransaction(() => {
      journal.jobs.end(job.key, end, clock.now());
      for (const requestId of journal.jobs.takeUnanswered(job.key)) {
        const status = { type: 'message_status', requestId, messageId: job.messageId } as const;
        if (end.state === 'delivered') {
          const guid = end.guid === undefined ? {} : { guid: end.guid };
          journal.outbox.put({ ...status, status: 'delivered', ...guid }, clock.now());
        } else {
          journal.outbox.put({ ...status, status: 'failed', error: end.error }, clock.now());
        }
      }
    });
    onFrames();
  }
}

function endOf(outcome: Outcome): JobResult {
  if (outcome.state === 'delivered') return outcome;
  const message = outcome.message.slice(0, MAX_MESSAGE).toWellFormed();
  return { state: outcome.state, error: { code: outcome.code, message } };
}
