import type { Lease } from '../../ports/switchboard/switchboard.ts';
import type { Patience, Setback, StatusCall } from './status-calls.ts';

/**
 * Whose word it is. `pending` and `rejection` are ours: given up when something newer is to be said of the message.
 * `terminal` comes from a Mac, which keeps it until the CRM took it or refused it for good.
 */
export type Voice = 'pending' | 'terminal' | 'rejection';

/** The first try and those of the schedule for a message the CRM does not know yet: 2, 4, 8, 16, 30 s later. */
const NOT_YET_TRIES = 6;
const TRIES = 5;
/** As long as `pending` is held while it cannot be known whether we may say it, or no token can be had. */
const HELD_MS = 60_000;
const STUCK_TRIES = 8;
const STUCK_MS = 15 * 60_000;
const PATIENT_CAUSES = new Set(['network', 'timeout', 'http', 'not_yet']);

export const laneOf = (locationId: string, messageId: string): string => `${locationId} ${messageId}`;

/** What is known of a lease here, and the way to ask for certain; there is nothing to ask on a node that is alone. */
export interface Leases {
  readonly isCurrent: (lease: Lease) => boolean;
  readonly confirm?: (lease: Lease) => Promise<boolean>;
}

/** One status on its way to the CRM. */
export class Telling implements Patience {
  readonly voice: Voice;
  readonly call: StatusCall;
  /** The same for all that is told of one message. */
  readonly lane: string;
  #lease: Lease | undefined;
  readonly #leases: Leases;
  #unwanted = false;
  #attempted = false;
  #withdrawn = false;
  #wake: (() => void) | undefined;

  constructor(
    voice: Voice,
    call: StatusCall,
    lease: Lease | undefined,
    leases: Leases,
    lane: string = laneOf(call.locationId, call.messageId),
  ) {
    this.voice = voice;
    this.call = call;
    this.lane = lane;
    this.#lease = lease;
    this.#leases = leases;
  }

  /** No further attempt: the first one is made all the same (A2), and one that is under way goes on until it is answered. */
  giveUp(): void {
    this.#unwanted = true;
    this.#wake?.();
  }

  /** Not said at all any more, unless it is on the wire already. */
  withdraw(): void {
    this.#withdrawn = true;
    this.giveUp();
  }

  /** The Mac came back on a newer line and said the same again: this goes on in its name. */
  speakFor(lease: Lease): void {
    if (this.#lease !== undefined && lease.epoch > this.#lease.epoch) this.#lease = lease;
  }

  wanted(renewed = false): boolean {
    return (
      !this.#withdrawn &&
      (renewed || !this.#unwanted || !this.#attempted) &&
      (this.#lease === undefined || this.#leases.isCurrent(this.#lease))
    );
  }

  attempting(): void {
    this.#attempted = true;
  }

  confirmed(): boolean | Promise<boolean> {
    if (this.#withdrawn) return false;
    const { confirm } = this.#leases;
    return confirm === undefined || this.#lease === undefined || this.#confirmed(confirm, this.#lease);
  }

  /** While one line is asked about the Mac may come back on a newer one. */
  async #confirmed(confirm: (lease: Lease) => Promise<boolean>, lease: Lease): Promise<boolean> {
    if (await confirm(lease)) return true;
    return this.#lease !== undefined && this.#lease !== lease && this.#confirmed(confirm, this.#lease);
  }

  waiting(wake: () => void): void {
    this.#wake = wake;
  }

  again(setback: Setback): boolean {
    if (setback.cause === 'none') return false;
    if (setback.cause === 'not_yet') return setback.attempts < NOT_YET_TRIES;
    if (this.voice === 'terminal') return setback.cause !== 'token_refused' && !isStuck(setback);
    // A refusal is not held: the CRM may have repeated the request at another node by then.
    if (setback.cause === 'away')
      return this.voice === 'pending' && !this.#unwanted && setback.sinceMs < HELD_MS;
    return PATIENT_CAUSES.has(setback.cause) && setback.attempts < TRIES;
  }
}

/** The CRM fails on this one for a quarter of an hour while it takes others: it will not take it later either. */
const isStuck = ({ attempts, sinceMs, status, othersPass }: Setback) =>
  attempts >= STUCK_TRIES && sinceMs >= STUCK_MS && status >= 500 && othersPass;
