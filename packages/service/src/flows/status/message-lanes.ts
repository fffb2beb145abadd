import type { Failpoint } from '../../failpoint.ts';
import type { StatusCalls, StatusOutcome } from './status-calls.ts';
import type { Telling } from './telling.ts';

interface Lane {
  readonly telling: Telling;
  readonly done: Promise<StatusOutcome>;
}

const UNWANTED: StatusOutcome = { kind: 'unwanted' };

/**
 * One message, one call at a time, in the order in which things were said. What is ours to say makes room for what comes after it:
 * it is not tried again, and only a request that is on the wire already is waited for. So `pending` never arrives behind a terminal
 * status, and the refusal of one request never behind the success of its repetition (A4).
 */
export class MessageLanes {
  readonly #calls: StatusCalls;
  readonly #failpoint: Failpoint | undefined;
  /** The newest telling of each message that has one under way. */
  readonly #lanes = new Map<string, Lane>();

  constructor(calls: StatusCalls, failpoint: Failpoint | undefined) {
    this.#calls = calls;
    this.#failpoint = failpoint;
  }

  tell(telling: Telling): Promise<StatusOutcome> {
    const { lane: key } = telling;
    const before = this.#lanes.get(key);
    if (before !== undefined) {
      if (before.telling.voice !== 'terminal') before.telling.giveUp();
      // The message's fate is already being told: that it is on its way is no news any more.
      else if (telling.voice !== 'terminal') return Promise.resolve(UNWANTED);
    }
    const done = this.#run(key, telling, before?.done);
    this.#lanes.set(key, { telling, done });
    return done;
  }

  async #run(
    key: string,
    telling: Telling,
    before: Promise<StatusOutcome> | undefined,
  ): Promise<StatusOutcome> {
    if (before !== undefined) await before;
    if (this.#failpoint !== undefined)
      await this.#failpoint(telling.voice === 'terminal' ? 'status.beforeTerminal' : 'status.beforePending');
    const outcome = await this.#calls.tell(telling.call, telling);
    if (this.#lanes.get(key)?.telling === telling) this.#lanes.delete(key);
    return outcome;
  }

  /** Lets what is on the wire be answered, and nothing else begin. */
  async close(): Promise<void> {
    const lanes = [...this.#lanes.values()];
    for (const { telling } of lanes) telling.giveUp();
    await Promise.all(lanes.map(({ done }) => done));
  }
}
