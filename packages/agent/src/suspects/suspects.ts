import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';
import type { WorkMark } from '@footbridge/runtime/work-mark';

/** A received message by its GUID, a message to send by the key of its job, or another frame of the outbox. */
export type MessageName = `inbound ${string}` | `outbound ${string}` | `frame ${number}`;

/** How often the agent ended while it worked on a message. It outlives the process. */
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
/** How long the agent runs before it handles suspects. */
const FIRST_OTHERS_MS = 10_000;

/**
 * Finds the message that ends the agent, and sets it aside when it did so twice (I10).
 *
 * - `during` and `workOn` name what is in work, in a file: when the process dies, the next start counts that for the message. Waiting is not
 *   work, so an agent that is killed from outside suspects nothing, or what happened to be in work.
 * - A suspect `waits` until this process has run for a while, so that the others go first. `acquit` says that it was handled: nothing is
 *   held against it any more.
 * - A message that ended two processes is `set aside` until it is released.
 */
export class Suspects {
  readonly #deps: SuspectsDeps;
  readonly #startedAt: number;
  /** Nearly always empty. */
  readonly #deaths: Map<string, number>;

  /** When the death of the former process cannot be counted, it throws and leaves that to the next start. */
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

  /** Names a message until the end of this turn of the event loop: after a wait. */
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

  /** A message was handled. One that is set aside stays so. */
  acquit(name: MessageName): void {
    if (this.#deaths.has(name) && !this.isSetAside(name)) this.release(name);
  }

  /** Allows another attempt. Returns false when nothing was held against the message. */
  release(name: MessageName): boolean {
    if (!this.#deaths.has(name)) return false;
    this.#deps.deaths.remove(name);
    return this.#deaths.delete(name);
  }
}

export const inboundName = (guid: string): MessageName => `inbound ${guid}`;
export const outboundName = (key: string): MessageName => `outbound ${key}`;
