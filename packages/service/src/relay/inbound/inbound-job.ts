import type { MessageReceivedFrame } from '@footbridge/protocol/frames';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';
import { nextRequestId } from '@footbridge/runtime/request-id';

import { backoff, isStuck, CANCELLED, succeeded, Cancellation, retry } from '../../platform/retry/retry.ts';
import type { RetryPolicy, Attempt, FailedAttempt, SendGuard } from '../../platform/retry/retry.ts';
import type { Journal } from '../journal/journal-sql.ts';
import { LeaseFence } from '../switchboard/lease-fence.ts';
import type { LeaseChecks } from '../switchboard/lease-fence.ts';
import type { MessageName } from '../../platform/suspects/suspects.ts';
import type { Suspects } from '../../platform/suspects/suspects-sql.ts';
import type { Lease } from '../switchboard/switchboard.ts';
import type { InboundMessage } from './inbound-calls.ts';

/**
 * The Mac keeps the message, so the message is retried as long as the CRM may accept it. A message on which the CRM fails while it accepts
 * others is given up (I6).
 */
export const inboundRetryPolicy: RetryPolicy = (failure, progress) =>
  isStuck(failure, progress) ? undefined : backoff(failure, progress);

/** For a call that changes something: after a lost response the CRM is read before the call is repeated (I9). */
export const writePolicy: RetryPolicy = (failure, progress) =>
  failure.inDoubt === true ? undefined : inboundRetryPolicy(failure, progress);

/** For a read after a lost response. Without a token the read waits longer: the message could not be posted either. */
export const readPolicy =
  (withinMs: number): RetryPolicy =>
  (failure, progress) => {
    const hasToken = failure.kind !== 'none' && failure.kind !== 'reauth_required';
    return hasToken && progress.elapsedMs >= withinMs ? undefined : backoff(failure, progress);
  };

const MAX_NOTED_FAILURES = 8;
const STORE_RETRY_MS = 1000;
const TOKEN_REJECTED: ReadonlySet<FailedAttempt['kind']> = new Set(['reauth_required', 'token_refused']);

export interface InboundJobDeps extends LeaseChecks {
  readonly journal: Pick<Journal, 'step'>;
  readonly suspects: Pick<Suspects, 'workOn'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** One message on its way from a Mac to the CRM. */
export class InboundJob {
  /** Of its journal entry. */
  id: string = nextRequestId();
  readonly frame: MessageReceivedFrame;
  readonly locationId: string;
  /** Monotonic. */
  readonly startedAt: number;
  /** Whether its journal entry was opened. */
  isRecorded = false;
  /** Whether this process has the claim. */
  isClaimed = false;
  /** Whether an attempt may have reached the CRM that is not recorded. */
  isInDoubt = false;
  /** Whether it was posted again although the CRM may have it. */
  isUncertain = false;
  /** What was posted last. */
  posted: InboundMessage | undefined;
  /** The post in flight, until its result is recorded. */
  posting: Promise<unknown> | undefined;
  /** The place of its post in the posts of this process. 0 when an earlier process posted it. */
  postNumber = 0;
  /** The search for it in the CRM, while that is under way. */
  lookUp: { readonly text: string; readonly done: Promise<unknown> } | undefined;
  readonly cancellation = new Cancellation();
  readonly #deps: InboundJobDeps;
  readonly #lease: LeaseFence;
  #notedFailures: Set<string> | undefined;

  constructor(lease: Lease, frame: MessageReceivedFrame, deps: InboundJobDeps) {
    this.frame = frame;
    this.locationId = lease.locationId;
    this.startedAt = deps.clock.monotonic();
    this.#lease = new LeaseFence(lease, deps);
    this.#deps = deps;
  }

  get lease(): Lease {
    return this.#lease.lease;
  }

  /** The Mac reconnected and sent the same message again. */
  takeOver(lease: Lease): void {
    this.#lease.takeOver(lease);
  }

  /** Makes no further attempt. One that is in flight is completed. */
  cancel(): void {
    this.cancellation.cancel();
  }

  isWanted(): boolean {
    return !this.cancellation.isCancelled && this.#lease.isCurrent();
  }

  get name(): MessageName {
    return { kind: 'inbound', locationId: this.locationId, id: this.frame.guid };
  }

  /** After a wait: what follows is work for this message (I10). */
  workOn(): void {
    this.#deps.suspects.workOn(this.name);
  }

  /** Resolves early when the job is cancelled. */
  pause(ms: number): Promise<void> {
    return this.#deps.clock.sleep(ms, this.cancellation.signal);
  }

  /** Repeats a call of the store until it succeeds. The only failure is a cancellation. */
  async store<T>(call: () => Promise<T>): Promise<Attempt<T>> {
    while (this.isWanted()) {
      try {
        return succeeded(await call());
      } catch (error) {
        this.#deps.log.warn(
          { event: 'inbound.store_unavailable', id: this.id, err: error },
          'store unavailable; inbound message delayed',
        );
        await this.pause(STORE_RETRY_MS);
      }
    }
    return CANCELLED;
  }

  /** Repeats one CRM call as long as the policy says so and the lease is current. */
  retry<T>(
    attempt: (guard: SendGuard) => Promise<Attempt<T>>,
    policy: RetryPolicy = inboundRetryPolicy,
  ): Promise<Attempt<T>> {
    const { cancellation } = this;
    const fence = () => this.#fence();
    const work = () => this.workOn();
    return retry({
      attempt(previous) {
        work();
        return attempt({ previous, cancellation, fence, work });
      },
      policy,
      clock: this.#deps.clock,
      isWanted: () => this.isWanted(),
      cancellation,
      onFailure: (failure) => {
        if (this.isWanted()) this.#note(failure);
      },
    });
  }

  async #fence(): Promise<boolean> {
    return this.isWanted() && (await this.#lease.confirm()) && this.isWanted();
  }

  /** Records each kind of failure once, and only a few kinds: an outage may last for days. */
  #note({ kind: cause, status: http, reason, code }: FailedAttempt): void {
    if (cause === 'token_expired') return;
    const key = `${cause} ${http}`;
    this.#notedFailures ??= new Set();
    if (this.#notedFailures.has(key) || this.#notedFailures.size >= MAX_NOTED_FAILURES) return;
    this.#notedFailures.add(key);
    const { journal, log } = this.#deps;
    if (cause === 'none') {
      journal.step(this.id, 'no_token', { state: 'received', code: 'NO_TOKEN' });
      log.warn(
        { event: 'inbound.no_token', id: this.id, locationId: this.locationId },
        'inbound message waits: its location has no token; install the app in it, or without OAuth set CRM_PIT_TOKENS',
      );
      return;
    }
    journal.step(this.id, 'crm_refused', {
      ...(TOKEN_REJECTED.has(cause) && { state: 'received', code: 'TOKEN_REJECTED' }),
      detail: { cause, http, reason },
    });
    log.info(
      { event: 'inbound.delayed', id: this.id, locationId: this.locationId, cause, http, reason, code },
      'inbound message not accepted by the CRM yet',
    );
  }
}
