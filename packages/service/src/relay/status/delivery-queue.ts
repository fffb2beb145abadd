import type { Clock } from '@footbridge/runtime/clock';
import type { Failpoint } from '@footbridge/runtime/failpoints';
import { SerialByKey } from '@footbridge/runtime/serial-by-key';

import type { FailedAttempt, RetryPolicy, RetryProgress, Attempt } from '../../platform/retry/retry.ts';
import { backoff, isStuck, Cancellation, retry, CANCELLED } from '../../platform/retry/retry.ts';
import { LeaseFence } from '../switchboard/lease-fence.ts';
import type { LeaseChecks } from '../switchboard/lease-fence.ts';
import type { Lease } from '../switchboard/switchboard.ts';
import type { StatusCalls, StatusUpdate } from './status-calls.ts';

/**
 * Where a status comes from. `pending` and `rejection` come from the service and are given up when the message has a newer status.
 * `terminal` comes from a Mac, which keeps it until the CRM has accepted or permanently rejected it.
 */
export type StatusSource = 'pending' | 'terminal' | 'rejection';

/** The first attempt and five more, after 2, 4, 8, 16 and 30 s. */
const MAX_NOT_YET_ATTEMPTS = 6;
const MAX_OWN_ATTEMPTS = 5;
/** How long `pending` is held while no token is available, or the lease cannot be confirmed. */
const MAX_HELD_MS = 60_000;
const TRANSIENT = new Set(['network', 'timeout', 'http']);

const policyOf =
  (source: StatusSource): RetryPolicy =>
  (failure, progress) =>
    isWorthRetrying(source, failure, progress) ? backoff(failure, progress) : undefined;

/** Retries `pending` a few times, and a terminal status as long as the CRM may accept it (A11). */
export const STATUS_RETRY_POLICIES: Readonly<Record<StatusSource, RetryPolicy>> = {
  pending: policyOf('pending'),
  terminal: policyOf('terminal'),
  rejection: policyOf('rejection'),
};

function isWorthRetrying(source: StatusSource, failure: FailedAttempt, progress: RetryProgress): boolean {
  const { kind } = failure;
  if (kind === 'token_expired') return true;
  if (kind === 'none') return false;
  if (kind === 'not_yet') return progress.attempts < MAX_NOT_YET_ATTEMPTS;
  if (source === 'terminal') return kind !== 'token_refused' && !isStuck(failure, progress);
  // A rejection is not held: by then the CRM may have repeated the request at another node.
  if (kind === 'unavailable') return source === 'pending' && progress.elapsedMs < MAX_HELD_MS;
  return TRANSIENT.has(kind) && progress.attempts < MAX_OWN_ATTEMPTS;
}

export interface StatusDeliveryDeps extends LeaseChecks {
  readonly calls: Pick<StatusCalls, 'put'>;
  readonly clock: Clock;
  /** What follows is work for this message, with a text of the Mac (I10). */
  readonly workOn?: (message: { locationId: string; id: string }) => void;
}

/** The same for all statuses of one message. */
export const messageKey = (locationId: string, messageId: string): string => `${locationId} ${messageId}`;

/** One status on its way to the CRM. */
export class StatusDelivery {
  readonly source: StatusSource;
  readonly update: StatusUpdate;
  readonly key: string;
  readonly #deps: StatusDeliveryDeps;
  readonly #lease: LeaseFence | undefined;
  readonly #superseded = new Cancellation();
  readonly #withdrawn = new Cancellation();
  readonly #check: (() => Promise<boolean>) | undefined;
  #wasSent = false;
  #timedOutAt: number | undefined;

  /** Without a lease it is sent no matter which Mac holds the location; `check` then decides before each request. */
  constructor(
    source: StatusSource,
    update: StatusUpdate,
    lease: Lease | undefined,
    deps: StatusDeliveryDeps,
    key: string = messageKey(update.locationId, update.messageId),
    check?: () => Promise<boolean>,
  ) {
    this.source = source;
    this.update = update;
    this.key = key;
    this.#deps = deps;
    this.#lease = lease && new LeaseFence(lease, deps);
    this.#check = check;
  }

  /** Whether a request was sent, so that the CRM may know. */
  get wasSent(): boolean {
    return this.#wasSent;
  }

  /** Aborted when the delivery must no longer be retried. */
  get superseded(): AbortSignal {
    return this.#superseded.signal;
  }

  /** The monotonic time at which the last request timed out here or at a gateway. Undefined if none did. */
  get timedOutAt(): number | undefined {
    return this.#timedOutAt;
  }

  /** Stops retrying. A first attempt is still made (A2), and one in flight is completed. */
  supersede(): void {
    this.#superseded.cancel();
  }

  /** Sends nothing any more, not even a first attempt. */
  withdraw(): void {
    this.#withdrawn.cancel();
    this.supersede();
  }

  /** The Mac reconnected and reported the same again. */
  takeOver(lease: Lease): void {
    this.#lease?.takeOver(lease);
  }

  /** Resolves with the last attempt. Never rejects. */
  send(): Promise<Attempt<undefined>> {
    return retry({
      attempt: (previous) => this.#put(previous),
      policy: STATUS_RETRY_POLICIES[this.source],
      clock: this.#deps.clock,
      isWanted: (previous) => this.#isWanted(previous),
      cancellation: this.#superseded,
      onFailure: (failure) => {
        if (mayStillArrive(failure)) this.#timedOutAt = this.#deps.clock.monotonic();
      },
    });
  }

  #put(previous: FailedAttempt | undefined): Promise<Attempt<undefined>> {
    const cancellation = this.#cancellation(previous);
    const fence = () => this.#fence(previous);
    const { locationId, messageId: id, error } = this.update;
    const work = () => {
      if (error !== undefined) this.#deps.workOn?.({ locationId, id });
    };
    work();
    return this.#deps.calls.put(this.update, { previous, cancellation, fence, work });
  }

  #isWanted(previous: FailedAttempt | undefined): boolean {
    return !this.#cancellation(previous).isCancelled && this.#lease?.isCurrent() !== false;
  }

  /** What prevents the next request. A repeat with a renewed token is part of the same attempt. */
  #cancellation(previous: FailedAttempt | undefined): Cancellation {
    return !this.#wasSent || previous?.kind === 'token_expired' ? this.#withdrawn : this.#superseded;
  }

  /** The last check before the request is sent. */
  async #fence(previous: FailedAttempt | undefined): Promise<boolean> {
    const isSendable =
      this.#isWanted(previous) &&
      (await (this.#lease?.confirm() ?? this.#check?.() ?? true)) &&
      this.#isWanted(previous);
    if (isSendable) this.#wasSent = true;
    return isSendable;
  }
}

/** After a timeout of a gateway, as after our own, the CRM may still have the request. */
const mayStillArrive = ({ kind, status, inDoubt }: FailedAttempt) =>
  inDoubt === true && (kind === 'timeout' || [408, 502, 504].includes(status));

export interface DeliveryQueueDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep' | 'after'>;
  readonly failpoint: Failpoint | undefined;
  /** After this time, a request that timed out can no longer arrive. */
  readonly settleMs: number;
}

/** A request that timed out and may still arrive. */
interface LateRequest {
  readonly locationId: string;
  /** In monotonic time. */
  readonly until: number;
}

/**
 * One call at a time per message, in the order of arrival. A status that the service itself produced yields to any later status: it is not
 * retried, and only its request in flight is awaited. So `pending` never arrives after a terminal status. A rejection never arrives after
 * the success of a repeat (A4). A request that timed out may still be in transit or queued in the CRM, so the next status of the message is
 * held until that request can no longer arrive.
 */
export class DeliveryQueue {
  readonly #deps: DeliveryQueueDeps;
  readonly #messages = new SerialByKey<StatusDelivery, Attempt<undefined>>();
  /** The latest one of each message, by delivery key. */
  readonly #late = new Map<string, LateRequest>();
  /**
   * Each `pending` that waits for a late request. The next status would wait as long, so the next status does not supersede the `pending`
   * (A5).
   */
  readonly #held = new Set<StatusDelivery>();

  constructor(deps: DeliveryQueueDeps) {
    this.#deps = deps;
  }

  /** `isNeeded` is asked when the delivery's turn comes; without it the status is always sent. */
  add(delivery: StatusDelivery, isNeeded?: () => Promise<boolean>): Promise<Attempt<undefined>> {
    const before = this.#messages.newest(delivery.key);
    if (before !== undefined && before.source !== 'terminal' && !this.#held.has(before)) before.supersede();
    return this.#messages.add(delivery.key, delivery, () => this.#send(delivery, isNeeded));
  }

  async #send(
    delivery: StatusDelivery,
    isNeeded: (() => Promise<boolean>) | undefined,
  ): Promise<Attempt<undefined>> {
    const { failpoint } = this.#deps;
    const late = this.#late.get(delivery.key);
    if (late !== undefined && !(await this.#waitForLate(late, delivery))) return CANCELLED;
    if (isNeeded !== undefined && !(await isNeeded())) return CANCELLED;
    if (failpoint !== undefined)
      await failpoint(delivery.source === 'terminal' ? 'status.beforeTerminal' : 'status.beforePending');
    const result = await delivery.send();
    if (delivery.timedOutAt !== undefined) this.#noteLate(delivery, delivery.timedOutAt);
    return result;
  }

  /** Waits until the late request can no longer arrive. Resolves with false if the delivery is superseded first. */
  async #waitForLate({ until }: LateRequest, delivery: StatusDelivery): Promise<boolean> {
    const { clock } = this.#deps;
    if (delivery.source === 'pending') this.#held.add(delivery);
    await clock.sleep(until - clock.monotonic(), delivery.superseded);
    const wasSuperseded = delivery.superseded.aborted;
    // A status that came during the wait: this one is still sent once, and not retried.
    if (this.#held.delete(delivery) && this.#messages.newest(delivery.key) !== delivery) delivery.supersede();
    return !wasSuperseded;
  }

  #noteLate({ key, update: { locationId } }: StatusDelivery, timedOutAt: number): void {
    const { clock, settleMs } = this.#deps;
    const late = { locationId, until: timedOutAt + settleMs };
    this.#late.set(key, late);
    clock.after(late.until - clock.monotonic(), () => {
      if (this.#late.get(key) === late) this.#late.delete(key);
    });
  }

  /**
   * Another node owns the location: completes the requests in flight for the location, and retries none. Resolves with the milliseconds for
   * which a request that timed out may still arrive.
   */
  async endCalls(locationId: string): Promise<number> {
    const ending = this.#messages.unfinished.filter(
      ({ item }) => item.update.locationId === locationId && item.source !== 'rejection',
    );
    for (const { item } of ending) item.supersede();
    await Promise.all(ending.map(({ done }) => done));
    const now = this.#deps.clock.monotonic();
    const late = [...this.#late.values()].filter((request) => request.locationId === locationId);
    return Math.max(0, ...late.map(({ until }) => until - now));
  }

  /** Another node has accepted a repeat of the message: completes a rejection in flight, and sends no other rejection of the message. */
  async withdrawRejections(key: string): Promise<void> {
    const ending = this.#messages.unfinished.filter(
      ({ item }) => item.key === key && item.source === 'rejection',
    );
    for (const { item } of ending) item.withdraw();
    await Promise.all(ending.map(({ done }) => done));
  }

  /** Completes requests in flight and starts no others. */
  async close(): Promise<void> {
    const { unfinished } = this.#messages;
    for (const { item } of unfinished) item.supersede();
    await Promise.all(unfinished.map(({ done }) => done));
  }
}
