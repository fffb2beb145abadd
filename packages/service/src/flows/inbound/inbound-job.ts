import * as crypto from 'node:crypto';

import type { MessageReceivedFrame } from '@footbridge/protocol/frames';
import { newRequestId } from '@footbridge/protocol/ids';

import type { Logger } from '../../log.ts';
import type { Journal } from '../../ports/journal/journal.ts';
import type { Lease } from '../../ports/switchboard/switchboard.ts';
import type { Patience, Setback } from './crm-calls.ts';

// Ids that sort by time keep the rows of a time together, which halves what the journal costs. Older Nodes have no generator for them.
const native = 'randomUUIDv7' in crypto ? (crypto.randomUUIDv7 as () => string) : undefined;
const nextId = (): string => native?.() ?? newRequestId();

const EMPTY_ANSWERS = 8;
const MOST_TROUBLES = 8;
const STUCK_TRIES = 8;
const STUCK_MS = 15 * 60_000;

export interface InboundJobDeps {
  readonly isCurrent: (lease: Lease) => boolean;
  /** Asks for certain; undefined on a node that is alone. */
  readonly confirm?: (lease: Lease) => Promise<boolean>;
  readonly journal: Pick<Journal, 'step'>;
  readonly log: Pick<Logger, 'info'>;
}

/** One message on its way from a Mac to the CRM, and the patience with which it is brought there. */
export class InboundJob implements Patience {
  /** Of its entry in the journal. */
  id: string = nextId();
  readonly frame: MessageReceivedFrame;
  readonly locationId: string;
  readonly #deps: InboundJobDeps;
  #lease: Lease;
  #unwanted = false;
  #wake: (() => void) | undefined;
  #troubles: Set<string> | undefined;

  constructor(lease: Lease, frame: MessageReceivedFrame, deps: InboundJobDeps) {
    this.frame = frame;
    this.locationId = lease.locationId;
    this.#lease = lease;
    this.#deps = deps;
  }

  get lease(): Lease {
    return this.#lease;
  }

  /** The Mac came back on a newer line and sent the same again: this goes on in its name. */
  speakFor(lease: Lease): void {
    if (lease.epoch > this.#lease.epoch) this.#lease = lease;
  }

  giveUp(): void {
    this.#unwanted = true;
    this.#wake?.();
  }

  wanted(): boolean {
    return !this.#unwanted && this.#deps.isCurrent(this.#lease);
  }

  confirmed(): boolean | Promise<boolean> {
    return this.#deps.confirm === undefined || this.#confirmed(this.#deps.confirm);
  }

  /** While one line is asked about the Mac may come back on a newer one. */
  async #confirmed(confirm: (lease: Lease) => Promise<boolean>): Promise<boolean> {
    for (;;) {
      const lease = this.#lease;
      if (await confirm(lease)) return true;
      if (lease === this.#lease) return false;
    }
  }

  waiting(wake: () => void): void {
    this.#wake = wake;
  }

  /** As long as the CRM may take it later the Mac keeps it, however long that is; what the CRM alone cannot swallow makes way. */
  again(setback: Setback): boolean {
    this.#note(setback);
    if (setback.cause === 'empty') return setback.attempts < EMPTY_ANSWERS;
    const { attempts, sinceMs, status, othersPass } = setback;
    return !(attempts >= STUCK_TRIES && sinceMs >= STUCK_MS && status >= 500 && othersPass);
  }

  /** Said when the trouble is new, and not for ever: an outage may last for days. */
  #note({ cause, status: http, reason }: Setback): void {
    const trouble = `${cause} ${http}`;
    this.#troubles ??= new Set();
    if (this.#troubles.has(trouble) || this.#troubles.size >= MOST_TROUBLES) return;
    this.#troubles.add(trouble);
    const { journal, log } = this.#deps;
    journal.step(this.id, 'crm_refused', { detail: { cause, http, reason } });
    log.info(
      { id: this.id, locationId: this.locationId, cause, http, reason },
      'an inbound message waits for the CRM',
    );
  }
}
