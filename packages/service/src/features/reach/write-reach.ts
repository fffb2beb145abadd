import type { LocationId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';
import { SerialByKey } from '@footbridge/runtime/serial-by-key';

import type { UpdateContact } from '../../relay/crm/contact-calls.ts';
import { fixedDelay, retry } from '../../platform/retry/retry.ts';
import type { ReachField, ReachFields } from './reach-fields-sql.ts';
import type { Reach } from './ask-reach.ts';

export interface WriteReachDeps {
  /** Returns the custom field of a location, or undefined when nothing is written there. */
  readonly fieldOf: (locationId: string) => string | undefined;
  /** Asks the Mac, not the cache. */
  readonly ask: (locationId: LocationId, handle: string) => Promise<Reach | 'not_connected'>;
  readonly fields: Pick<ReachFields, 'get' | 'set'>;
  readonly updateContact: UpdateContact;
  readonly clock: Clock;
  readonly log: Log;
}

/** By then the Mac has sent the message, and has the receipt if the phone is on. */
const SETTLE_MS = 60_000;
const RETRY_POLICY = fixedDelay(3, 5000);
/** The pause after each write, which takes two calls: most of the rate limit of a location is left for messages. */
const GAP_MS = 1000;
/** How long a location is skipped after a failed write, for example because of a missing scope. */
const PAUSE_MS = 600_000;
const MAX_WAITING = 10_000;

/**
 * Writes how a contact can be reached into a custom field. Asks the Mac a minute after a message, and writes only changes; `unknown` never
 * replaces a known value. One write at a time per location. A write that is lost to a failure or a restart is made after the next message.
 */
export class ReachWriter {
  readonly #deps: WriteReachDeps;
  /** People about whom the Mac will be asked, each with the function that cancels the question. */
  readonly #waiting = new Map<string, () => void>();
  readonly #writes = new SerialByKey<object>();
  readonly #pausedUntil = new Map<string, number>();
  readonly #closing = new AbortController();

  constructor(deps: WriteReachDeps) {
    this.#deps = deps;
  }

  /** Call after a message to or from this person. */
  messaged(locationId: LocationId, handle: string): void {
    const key = `${locationId} ${handle}`;
    const { fieldOf, clock } = this.#deps;
    if (fieldOf(locationId) === undefined || this.#waiting.has(key)) return;
    if (this.#waiting.size >= MAX_WAITING || this.#closing.signal.aborted) return;
    const cancel = clock.after(SETTLE_MS, () => {
      this.#waiting.delete(key);
      void this.#ask(locationId, handle);
    });
    this.#waiting.set(key, cancel);
  }

  /** Call when the Mac of the location has reported how this person is reached. */
  learned(locationId: string, handle: string, reach: Reach['reach']): void {
    const fieldId = this.#deps.fieldOf(locationId);
    if (fieldId === undefined || this.#closing.signal.aborted) return;
    void this.#writes.add(locationId, {}, () => this.#write(locationId, handle, { fieldId, reach }));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const cancel of this.#waiting.values()) cancel();
    await this.#writes.idle();
  }

  async #ask(locationId: LocationId, handle: string): Promise<void> {
    try {
      const found = await this.#deps.ask(locationId, handle);
      if (found !== 'not_connected') this.learned(locationId, handle, found.reach);
    } catch (error) {
      this.#failed(locationId, error);
    }
  }

  async #write(locationId: string, handle: string, field: ReachField): Promise<void> {
    const { fields, updateContact, clock, log } = this.#deps;
    const { signal } = this.#closing;
    if (signal.aborted || clock.now() < (this.#pausedUntil.get(locationId) ?? 0)) return;
    try {
      const written = await fields.get(locationId, handle);
      if (written !== undefined && isCurrent(written, field)) return;
      const result = await retry({
        attempt: () =>
          updateContact('set_reach', locationId, handle, {
            customFields: [{ id: field.fieldId, field_value: field.reach }],
          }),
        policy: RETRY_POLICY,
        clock,
        isWanted: () => !signal.aborted,
        cancellation: this.#closing,
      });
      if (result.ok && result.value === 'updated') await fields.set(locationId, handle, field);
      if (!result.ok && result.kind !== 'cancelled') {
        this.#pausedUntil.set(locationId, clock.now() + PAUSE_MS);
        log.warn(
          { event: 'reach.field_not_written', locationId, http: result.status, reason: result.reason },
          'reach not written to the contact, paused for ten minutes; check CRM_REACH_FIELD_ID and the scope contacts.write',
        );
      }
    } catch (error) {
      this.#failed(locationId, error);
    }
    await clock.sleep(GAP_MS, signal);
  }

  #failed(locationId: string, error: unknown): void {
    this.#deps.log.warn(
      { event: 'reach.unavailable', locationId, err: error },
      'reach not looked up or not recorded, next attempt after the next message',
    );
  }
}

const isCurrent = (written: ReachField, { fieldId, reach }: ReachField) =>
  written.fieldId === fieldId && (written.reach === reach || reach === 'unknown');
