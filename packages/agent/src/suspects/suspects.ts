import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';
import type { WorkMark } from '@footbridge/runtime/work-mark';

/** A received message by its GUID, a message to send by the key of its job, or another frame of the outbox. */
export type MessageName = `inbound ${string}` | `outbound ${string}` | `frame ${number}`;

/** Counts how often the process died while it worked on a message. Outlives the process. */
export interface Deaths {
  all(): { readonly name: string; readonly deaths: number }[];
  /** Adds one and returns the sum. */
  add(name: string, now: number): number;
  remove(name: string): void;
}

export interface SuspectsDeps {
  readonly mark: WorkMark;
  readonly deaths: Deaths;
  readonly clock: Clock;
  readonly log: Log;
}

const MAX_DEATHS = 2;
/** How long other messages go first before the agent handles suspects. */
const FIRST_OTHERS_MS = 10_000;

/**
 * Finds the message that crashes the agent, and sets it aside after the second crash (I10).
 *
 * - `during` and `workOn` write to a file which message the agent works on. When the process dies, the next start counts a death for that
 *   message. Waiting is not work, so a process that is killed from outside usually blames no message.
 * - A suspect `waits` until this process has run for a while, so that the other messages go first. `acquit` clears a message that was
 *   handled.
 * - A message that crashed two processes is `set aside` until it is released.
 */
export class Suspects {
  readonly #deps: SuspectsDeps;
  readonly #startedAt: number;
  /** The counted deaths by message. Nearly always empty. */
  readonly #deaths: Map<string, number>;

  /** Throws when the death of the former process cannot be counted. Then the next start counts it. */
  constructor(deps: SuspectsDeps) {
    const { mark, deaths, clock, log } = deps;
    this.#deps = deps;
    this.#startedAt = clock.monotonic();
    try {
      const { left } = mark;
      if (left !== undefined) {
        const count = deaths.add(left, clock.now());
        const [kind, id] = [left.slice(0, left.indexOf(' ')), left.slice(left.indexOf(' ') + 1)];
        log.warn(
          { event: 'message.ended_process', kind, id, deaths: count, isSetAside: count >= MAX_DEATHS },
          'the former process ended while it worked on this message',
        );
      }
      this.#deaths = new Map(deaths.all().map(({ name, deaths: count }) => [name, count]));
    } catch (error) {
      mark.giveBack();
      throw error;
    }
  }

  /** Runs synchronous work for a message. */
  during<T>(name: MessageName, run: () => T): T {
    return this.#deps.mark.during(name, run);
  }

  /** Names a message until the end of this turn of the event loop. Call after a wait. */
  workOn(name: MessageName): void {
    this.#deps.mark.name(name);
  }

  verdict(name: MessageName): 'clear' | 'suspect' | 'waits' | 'set aside' {
    const deaths = this.#deaths.get(name) ?? 0;
    if (deaths === 0) return 'clear';
    if (deaths >= MAX_DEATHS) return 'set aside';
    return this.waitMs() > 0 ? 'waits' : 'suspect';
  }

  isSetAside(name: MessageName): boolean {
    return this.verdict(name) === 'set aside';
  }

  /** How long suspects still wait. */
  waitMs(): number {
    return Math.max(0, this.#startedAt + FIRST_OTHERS_MS - this.#deps.clock.monotonic());
  }

  /** Clears a message that was handled, unless it is set aside. */
  acquit(name: MessageName): void {
    if (this.#deaths.has(name) && !this.isSetAside(name)) this.release(name);
  }

  /** Allows another attempt. Returns false when no death was counted for the message. */
  release(name: MessageName): boolean {
    if (!this.#deaths.has(name)) return false;
    this.#deps.deaths.remove(name);
    return this.#deaths.delete(name);
  }
}

export const inboundName = (guid: string): MessageName => `inbound ${guid}`;
export const outboundName = (key: string): MessageName => `outbound ${key}`;
