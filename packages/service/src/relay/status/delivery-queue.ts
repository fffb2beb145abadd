import type { Clock } from '@footbridge/runtime/clock';
import type { Failpoint } from '@footbridge/runtime/failpoints';
import { SerialByKey } from '@footbridge/runtime/serial-by-key';

import { CANCELLED } from '../../platform/retry/attempt.ts';
import type { Attempt } from '../../platform/retry/attempt.ts';
import type { StatusDelivery } from './status-delivery.ts';

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
