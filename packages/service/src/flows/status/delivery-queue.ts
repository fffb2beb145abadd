import type { Failpoint } from '@footbridge/runtime/failpoints';
import { SerialByKey } from '@footbridge/runtime/serial-by-key';

import { CANCELLED } from '../../ports/crm/attempt.ts';
import type { Attempt } from '../../ports/crm/attempt.ts';
import type { StatusDelivery } from './status-delivery.ts';

/**
 * One call at a time per message, in the order of arrival. A status that the service itself produced yields to any later one:
 * it is not retried, and only a request in flight is awaited. So `pending` never arrives after a terminal status, and the rejection of
 * one request never after the success of its repetition (A4).
 */
export class DeliveryQueue {
  readonly #failpoint: Failpoint | undefined;
  readonly #messages = new SerialByKey<StatusDelivery, Attempt<undefined>>();

  constructor(failpoint: Failpoint | undefined) {
    this.#failpoint = failpoint;
  }

  /** `isNeeded` is asked when the delivery's turn comes; without it the status is always sent. */
  add(delivery: StatusDelivery, isNeeded?: () => Promise<boolean>): Promise<Attempt<undefined>> {
    const before = this.#messages.newest(delivery.key);
    if (before !== undefined && before.source !== 'terminal') before.supersede();
    return this.#messages.add(delivery.key, delivery, () => this.#send(delivery, isNeeded));
  }

  async #send(
    delivery: StatusDelivery,
    isNeeded: (() => Promise<boolean>) | undefined,
  ): Promise<Attempt<undefined>> {
    if (isNeeded !== undefined && !(await isNeeded())) return CANCELLED;
    if (this.#failpoint !== undefined)
      await this.#failpoint(
        delivery.source === 'terminal' ? 'status.beforeTerminal' : 'status.beforePending',
      );
    return delivery.send();
  }

  /** Another node owns the location: completes the requests in flight for it, and retries none. */
  async settle(locationId: string): Promise<void> {
    const ending = this.#messages.unfinished.filter(
      ({ item }) => item.update.locationId === locationId && item.source !== 'rejection',
    );
    for (const { item } of ending) item.supersede();
    await Promise.all(ending.map(({ done }) => done));
  }

  /** Another node has accepted a repeat of the message: completes a request in flight for a rejection of it, and sends no other. */
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
