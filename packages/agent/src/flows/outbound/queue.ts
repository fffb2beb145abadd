import type { RequestNames, SendFrame } from '@footbridge/protocol/frames';
import type { Clock } from '@footbridge/runtime/clock';
import type { BlockingFailpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';

import type { Job, Journal } from '../../journal/journal.ts';
import { isReadable } from '../../ports/messages/messages.ts';
import type { StoreState } from '../../ports/messages/messages.ts';
import { outboundName } from '../../suspects/suspects.ts';
import type { Suspects } from '../../suspects/suspects.ts';
import { acceptRequest, jobKey, rejectInvalid, rejectSetAside, SET_ASIDE } from './accept-request.ts';
import { HeldJobs } from './held-jobs.ts';
import { reportStatus } from './report-status.ts';
import { INTERRUPTED } from './steps.ts';
import type { Held } from './held-jobs.ts';
import { failed } from '../../outcome.ts';
import type { Failed, JobOutcome } from '../../outcome.ts';

const MAX_ERROR_MESSAGE = 1000;
const JOURNAL_RETRY_MS = 1_000;
const STORE_POLL_MS = 500;
/** How long the queue waits for a store that is unreadable for another reason than a lock. */
const MAX_UNREADABLE_MS = 60_000;
/** A reply can lift a limit at any time. */
const LIMIT_CHECK_MS = 30_000;
const MIN_LIMIT_CHECK_MS = 1_000;

export interface QueueDeps {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: BlockingFailpoint;
  readonly suspects: Pick<Suspects, 'during' | 'verdict' | 'waitMs' | 'acquit' | 'release'>;
  /** Maximum number of pending jobs, including the one in progress (M2). */
  readonly limit: number;
  /** How long a job over a limit of the line waits before it fails. */
  readonly limitWaitMs: number;
  /** An interrupted send can be looked up only while the store is readable. */
  readonly storeState: () => StoreState;
  /** Resolves after the pause between two jobs. */
  readonly pause: (signal: AbortSignal) => Promise<void>;
  readonly perform: (job: Job, frame: SendFrame) => Promise<JobOutcome | Held>;
  /** Called when there are new frames in the outbox. */
  readonly onFrames: () => void;
}

/**
 * The queue of all outbound jobs: first in, first out, one at a time. Its state is in the journal. A job over a limit of the line waits,
 * as does a job that may have crashed the agent (I10). Later jobs to the same person wait too, and all others pass.
 */
export class Queue {
  readonly #deps: QueueDeps;
  readonly #stopping = new AbortController();
  readonly #held = new HeldJobs();
  #wake: (() => void) | undefined;
  #running: Promise<void> | undefined;

  constructor(deps: QueueDeps) {
    this.#deps = deps;
  }

  /** Recovers the jobs of a process that died, then runs jobs until `stop`. */
  start(): void {
    this.#recover();
    this.#running = this.#run();
  }

  accept(frame: SendFrame): void {
    const { journal, clock, log, limit, failpoint, onFrames } = this.#deps;
    failpoint('accept.before');
    const accepted = acceptRequest(frame, journal, { limit, now: clock.now() });
    failpoint('accept.after');
    const { requestId, messageId, channel } = frame;
    log.info(
      { event: 'queue.request_received', requestId, messageId, channel, accepted, depth: this.depth() },
      'request received',
    );
    if (accepted === 'queued') this.#wake?.();
    if (accepted === 'answered' || accepted === 'rejected') onFrames();
  }

  /** Reports a failure for a request that cannot be parsed. */
  rejectInvalid(request: RequestNames, reason: string): void {
    const { journal, clock, onFrames } = this.#deps;
    rejectInvalid(request, reason, journal, clock.now());
    onFrames();
  }

  /** Reports a failure for a request whose message was set aside. */
  rejectSetAside(request: RequestNames): void {
    const { journal, clock, onFrames } = this.#deps;
    rejectSetAside(request, journal, clock.now());
    onFrames();
  }

  /** Allows another attempt, which the operator requested: the message is sent when the CRM repeats it. */
  allow(messageId: string): void {
    const isReleased = this.#deps.suspects.release(outboundName(jobKey({ requestId: '', messageId })));
    this.#deps.log.info({ event: 'queue.attempt_allowed', messageId, isReleased }, 'another attempt allowed');
  }

  depth(): number {
    return this.#deps.journal.jobs.pendingCount();
  }

  /** Returns how many jobs wait for a limit of the line, and when the first one may be sent. */
  held(): { readonly count: number; readonly nextSlotAt: number | undefined } {
    return { count: this.#held.count, nextSlotAt: this.#held.nextSlotAt() };
  }

  /** Resolves after the job in progress has ended: aborting it would make its outcome unknown. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake?.();
    await this.#running;
  }

  /** Queues interrupted jobs again. A step that had begun looks for its outcome instead of sending again (M4). */
  #recover(): void {
    const { journal } = this.#deps;
    for (const job of journal.jobs.interrupted()) journal.jobs.requeue(job.key);
    for (const job of journal.jobs.queued()) if (this.#waits(job)) this.#holdSuspect(job);
  }

  /** A suspect with an interrupted send does not wait: the send is only looked up, and before any other send. */
  #waits(job: Job): boolean {
    return this.#deps.suspects.verdict(outboundName(job.key)) === 'waits' && !this.#hasUnfinishedStep(job);
  }

  #holdSuspect(job: Job): void {
    const { clock, suspects, log } = this.#deps;
    const waitMs = suspects.waitMs();
    const { messageId } = job;
    log.info({ event: 'queue.suspect_waits', messageId, waitMs }, 'other messages go first');
    this.#held.hold(job.key, {
      phone: this.#phoneOf(job) ?? '',
      slotAt: clock.now() + waitMs,
      checkAt: clock.monotonic() + waitMs,
    });
  }

  #phoneOf(job: Job): string | undefined {
    return this.#deps.suspects.during(outboundName(job.key), () => job.frame?.phone);
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#stopping;
    let needsRecovery = false;
    while (!signal.aborted) {
      try {
        // After a failed write, a job may be half done. Recovering as after a crash sends nothing twice.
        if (needsRecovery) this.#recover();
        needsRecovery = false;
        await this.#runNext(signal);
      } catch (error) {
        needsRecovery = true;
        log.error({ event: 'queue.journal_not_writable', err: error }, 'journal not writable, queue paused');
        await clock.sleep(JOURNAL_RETRY_MS, signal);
      }
    }
  }

  async #runNext(signal: AbortSignal): Promise<void> {
    const job = this.#nextJob();
    if (job === undefined) return await this.#sleep();
    if (this.#hasUnfinishedStep(job)) await this.#untilStoreReadable(job, signal);
    if (signal.aborted) return;
    if ((await this.#runJob(job)) === 'ended') await this.#deps.pause(signal);
  }

  /** Waits until the store is readable. Messages can lock it, most often right after a restart. The job is still queued. */
  async #untilStoreReadable({ messageId }: Job, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    const deadline = clock.monotonic() + MAX_UNREADABLE_MS;
    const mustWait = (): boolean => {
      const state = this.#storeState();
      return state === 'locked' || (!isReadable(state) && clock.monotonic() < deadline);
    };
    if (!mustWait()) return;
    log.warn(
      { event: 'queue.store_not_readable', messageId },
      'message store not readable, interrupted send waits',
    );
    while (mustWait() && !signal.aborted) await clock.sleep(STORE_POLL_MS, signal);
  }

  /** Returns `corrupt` after an unexpected error, so that the job runs and reports the error instead of delaying the others. */
  #storeState(): StoreState {
    try {
      return this.#deps.storeState();
    } catch {
      return 'corrupt';
    }
  }

  #nextJob(): Job | undefined {
    const { journal, clock } = this.#deps;
    if (this.#held.count === 0) return journal.jobs.next();
    const now = clock.monotonic();
    return journal.jobs.queued().find((job) => !this.#held.blocks(job.key, this.#phoneOf(job), now));
  }

  /** Resolves when there is a new job, or when the limits of a held one must be checked again. */
  async #sleep(): Promise<void> {
    const { clock } = this.#deps;
    const checkAt = this.#held.nextCheckAt();
    const woken = new AbortController();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (checkAt !== undefined)
        void clock.sleep(Math.max(0, checkAt - clock.monotonic()), woken.signal).then(resolve);
    });
    woken.abort();
    this.#wake = undefined;
  }

  async #runJob(job: Job): Promise<'ended' | 'held'> {
    const { journal, clock, log, failpoint } = this.#deps;
    const started = clock.monotonic();
    journal.jobs.begin(job.key);
    failpoint('job.begun');
    const outcome = await this.#performUnlessSetAside(job);
    if (outcome.state === 'held') {
      this.#hold(job, outcome);
      return 'held';
    }
    failpoint('job.performed');
    this.#end(job, outcome);
    failpoint('job.ended');
    const { state } = outcome;
    const code = outcome.state === 'delivered' ? undefined : outcome.code;
    const tookMs = Math.round(clock.monotonic() - started);
    log.info(
      { event: 'queue.job_ended', messageId: job.messageId, state, code, tookMs, depth: this.depth() },
      'job ended',
    );
    return 'ended';
  }

  #hold(job: Job, { slotAt }: Held): void {
    const { journal, clock, log, limitWaitMs } = this.#deps;
    if (!this.#held.has(job.key)) {
      const { messageId } = job;
      log.info(
        { event: 'queue.job_held', messageId, slotAt: new Date(slotAt).toISOString() },
        'job held by a limit',
      );
    }
    const now = clock.now();
    const wait = Math.min(LIMIT_CHECK_MS, Math.min(slotAt, job.changedAt + limitWaitMs) - now);
    const checkAt = clock.monotonic() + Math.max(MIN_LIMIT_CHECK_MS, wait);
    this.#held.hold(job.key, { phone: this.#phoneOf(job) ?? '', slotAt, checkAt });
    journal.jobs.requeue(job.key);
  }

  async #performUnlessSetAside(job: Job): Promise<JobOutcome | Held> {
    const { suspects, log } = this.#deps;
    const name = outboundName(job.key);
    if (suspects.verdict(name) !== 'set aside') return suspects.during(name, () => this.#perform(job));
    const { messageId } = job;
    log.error({ event: 'queue.set_aside', messageId }, 'message crashed the agent twice, set aside');
    return { ...SET_ASIDE, state: this.#hasUnfinishedSend(job) ? 'unknown' : 'failed' };
  }

  async #perform(job: Job): Promise<JobOutcome | Held> {
    const { perform, clock, limitWaitMs, log } = this.#deps;
    try {
      const { frame } = job;
      if (frame === undefined) throw new Error('The journal has a pending job without its request');
      const outcome = await perform(job, frame);
      if (outcome.state === 'failed' && this.#hasUnfinishedSend(job)) return this.#interrupted(job, outcome);
      if (outcome.state !== 'held') return withBoundedMessage(outcome);
      return clock.now() - job.changedAt < limitWaitMs ? outcome : overLimit(outcome);
    } catch (error) {
      log.error(
        { event: 'queue.job_failed_unexpectedly', err: error, messageId: job.messageId },
        'job failed unexpectedly',
      );
      const began = this.#hasUnfinishedStep(job);
      const message = began ? 'outcome unknown: an unexpected error while sending' : 'an unexpected error';
      return { state: began ? 'unknown' : 'failed', code: 'INTERNAL_ERROR', message };
    }
  }

  #hasUnfinishedStep({ key }: Job): boolean {
    return this.#deps.journal.jobs.unfinishedSteps(key).length > 0;
  }

  /** An interrupted press does not count: a reaction is compared with the present state first, so its failure is certain (F9). */
  #hasUnfinishedSend({ key }: Job): boolean {
    return this.#deps.journal.jobs.unfinishedSteps(key).some(({ name }) => name !== 'press');
  }

  /** Returns an unknown outcome: an earlier send may have arrived, and this attempt failed before it could look for its row (M4). */
  #interrupted({ messageId }: Job, { code, message }: Failed<string>): JobOutcome {
    this.#deps.log.warn(
      { event: 'queue.outcome_unknown', messageId, code, reason: message },
      'outcome of an interrupted send unknown',
    );
    return INTERRUPTED;
  }

  /** Ends the job and reports it to its requests in one transaction, so that neither happens without the other. */
  #end(job: Job, outcome: JobOutcome): void {
    const { journal, suspects, clock, onFrames } = this.#deps;
    suspects.acquit(outboundName(job.key));
    this.#held.release(job.key);
    journal.durableTransaction(() => {
      journal.jobs.end(job.key, outcome, clock.now());
      for (const requestId of journal.jobs.takeUnanswered(job.key)) {
        reportStatus(journal.outbox, { requestId, messageId: job.messageId }, outcome, clock.now());
      }
    });
    onFrames();
  }
}

function withBoundedMessage(outcome: JobOutcome): JobOutcome {
  if (outcome.state === 'delivered') return outcome;
  return { ...outcome, message: outcome.message.slice(0, MAX_ERROR_MESSAGE).toWellFormed() };
}

function overLimit({ limit, slotAt }: Held): Failed {
  const slot = new Date(slotAt).toISOString();
  const message = `This Mac has ${limit}, which is its limit. Nothing was sent. Next free slot: ${slot}. Send it again then.`;
  return failed('RATE_LIMITED', message);
}
