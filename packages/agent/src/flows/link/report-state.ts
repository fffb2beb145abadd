import type { StateFrame } from '@footbridge/protocol/frames';
import { every } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

const CHECK_MS = 2_000;
/** Minimum time between two `state` frames, also across a reconnect. */
const MIN_GAP_MS = 10_000;

export interface StateReporterDeps {
  readonly read: () => StateFrame;
  /** Returns false when no session is registered. */
  readonly send: (frame: StateFrame) => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Sends the state of this Mac to the service: once per session, and after each change. */
export class StateReporter {
  readonly #deps: StateReporterDeps;
  /** The last state that this session reported. */
  #reported: string | undefined;
  #sentAt = -Infinity;

  constructor(deps: StateReporterDeps) {
    this.#deps = deps;
  }

  /** Checks for changes until the returned function is called. */
  start(): () => void {
    return every(this.#deps.clock, CHECK_MS, () => this.#check());
  }

  /** Reports again: the service does not know the reports of earlier sessions. */
  registered(): void {
    this.#reported = undefined;
    this.#check();
  }

  #check(): void {
    const { read, send, clock, log } = this.#deps;
    if (clock.monotonic() - this.#sentAt < MIN_GAP_MS) return;
    try {
      const frame = read();
      const reported = withoutAge(frame);
      if (reported === this.#reported || !send(frame)) return;
      this.#reported = reported;
      this.#sentAt = clock.monotonic();
    } catch (error) {
      log.error({ event: 'link.state_not_sent', err: error }, 'state not sent, will retry');
    }
  }
}

/** The age of the oldest request always grows, which alone is not a change. */
function withoutAge({ queue, ...frame }: StateFrame): string {
  return JSON.stringify({ ...frame, pending: queue?.pending });
}
