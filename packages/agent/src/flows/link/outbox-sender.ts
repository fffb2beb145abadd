import { MAX_FRAME_BYTES, parseMacFrame } from '@footbridge/protocol/frames';
import type { AckFrame } from '@footbridge/protocol/frames';
import type { Clock } from '@footbridge/runtime/clock';
import type { BlockingFailpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';

import type { Outbox } from '../../ports/journal/journal.ts';
import type { Session } from './session.ts';

export interface OutboxSenderDeps {
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: BlockingFailpoint;
  readonly session: Pick<Session, 'isOpen' | 'send'>;
}

/** Sends the outbox over one session: oldest first, at most `window` frames in flight, until each is acknowledged. */
export class OutboxSender {
  readonly #deps: OutboxSenderDeps;
  /** Bytes by `seq`. */
  readonly #inFlight = new Map<number, number>();
  #window = 0;
  #lastSeq = 0;

  constructor(deps: OutboxSenderDeps) {
    this.#deps = deps;
  }

  /** The session is registered: up to `window` frames may be in flight. */
  open(window: number): void {
    this.#window = window;
    this.flush();
  }

  /** Sends pending frames as far as the window allows. */
  flush(): void {
    const { outbox, session, failpoint } = this.#deps;
    while (this.#inFlight.size < this.#window && session.isOpen()) {
      const [entry] = outbox.unacknowledged(this.#lastSeq, 1);
      if (entry === undefined) return;
      this.#lastSeq = entry.seq;
      const bytes = Buffer.byteLength(entry.text);
      const problem = problemOf(entry.text, bytes);
      if (problem === undefined) {
        this.#inFlight.set(entry.seq, bytes);
        session.send(entry.text);
        failpoint('frame.sent');
      } else {
        this.#setAside(entry.seq, problem);
      }
    }
  }

  acknowledge({ seq, outcome, reason }: AckFrame): void {
    const { outbox, clock, log } = this.#deps;
    if (outcome === 'rejected') {
      const known = outbox.reject(seq, reason ?? 'no reason given', clock.now());
      if (known) {
        log.warn(
          { event: 'link.frame_rejected', seq, reason },
          'frame rejected by the CRM, kept for 30 days',
        );
      }
    } else {
      outbox.acknowledge(seq);
    }
    this.#inFlight.delete(seq);
    this.flush();
  }

  redeliver(seq: number): void {
    const { outbox, clock, log } = this.#deps;
    const again = outbox.redeliver(seq, clock.now());
    if (again === undefined)
      log.warn({ event: 'link.redeliver_unknown', seq }, 'frame to redeliver not found');
    else log.info({ event: 'link.redelivered', seq, again }, 'frame queued for redelivery');
    this.flush();
  }

  /** After close code 1009, which does not name the frame: the largest one in flight is the likely cause. */
  setAsideLargest(): void {
    let largest: [seq: number, bytes: number] | undefined;
    for (const frame of this.#inFlight) if (largest === undefined || frame[1] > largest[1]) largest = frame;
    if (largest !== undefined) this.#setAside(largest[0], 'too large for the service');
  }

  #setAside(seq: number, reason: string): void {
    const { outbox, clock, log } = this.#deps;
    outbox.setAside(seq, reason, clock.now());
    this.#inFlight.delete(seq);
    log.error({ event: 'link.frame_set_aside', seq, reason }, 'frame cannot be delivered, set aside');
  }
}

/** Returns why the service would not accept the frame, or undefined. */
function problemOf(text: string, bytes: number): string | undefined {
  if (bytes > MAX_FRAME_BYTES) return `${bytes} bytes exceed the limit of ${MAX_FRAME_BYTES}`;
  const parsed = parseMacFrame(text);
  if (parsed.kind === 'frame') return undefined;
  return parsed.kind === 'invalid' ? parsed.reason : `unknown type ${parsed.type}`;
}
