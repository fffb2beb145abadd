import type { Clock } from '@footbridge/runtime/clock';

import type { Attempt, FailedAttempt } from '../../platform/retry/attempt.ts';
import { Cancellation } from '../../platform/retry/cancellation.ts';
import { retry } from '../../platform/retry/retry.ts';
import { LeaseFence } from '../switchboard/lease-fence.ts';
import type { LeaseChecks } from '../switchboard/lease-fence.ts';
import type { Lease } from '../switchboard/switchboard.ts';
import type { StatusCalls, StatusUpdate } from './status-calls.ts';
import { STATUS_RETRY_POLICIES } from './status-retry-policy.ts';
import type { StatusSource } from './status-retry-policy.ts';

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
