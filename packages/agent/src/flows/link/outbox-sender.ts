import { MAX_FRAME_BYTES, parseMacFrame } from '@footbridge/protocol/frames';
import type { AckFrame } from '@footbridge/protocol/frames';
import type { Clock } from '@footbridge/runtime/clock';
import type { BlockingFailpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';

import type { Outbox, OutboxEntry } from '../../journal/journal.ts';
import { setAsideFrame } from '../../suspects/set-aside-frame.ts';
import { inboundName } from '../../suspects/suspects.ts';
import type { MessageName, Suspects } from '../../suspects/suspects.ts';
import type { Session } from './session.ts';

export interface OutboxSenderDeps {
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: BlockingFailpoint;
  readonly session: Pick<Session, 'isOpen' | 'send'>;
  readonly suspects: Pick<Suspects, 'during' | 'isSetAside' | 'acquit' | 'release'>;
  /** Called when the operator releases a received message that was set aside. */
  readonly onReleased: (guid: string) => void;
}

/** Sends the outbox over one session: oldest first, at most `window` frames in flight, until each is acknowledged. */
export class OutboxSender {
  readonly #deps: OutboxSenderDeps;
  /** By `seq`. */
  readonly #inFlight = new Map<number, { readonly bytes: number; readonly name: MessageName }>();
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

  /** Sends pending frames until the window is full. */
  flush(): void {
    const { outbox, session, suspects, failpoint } = this.#deps;
    while (this.#inFlight.size < this.#window && session.isOpen()) {
      const [entry] = outbox.unacknowledged(this.#lastSeq, 1);
      if (entry === undefined) return;
      this.#lastSeq = entry.seq;
      const name = nameOf(entry);
      const isSent = suspects.isSetAside(name)
        ? this.#reportSetAside(entry)
        : suspects.during(name, () => this.#send(entry, name));
      if (isSent) failpoint('frame.sent');
    }
  }

  /** Returns false when the frame cannot be sent. */
  #send({ seq, text }: OutboxEntry, name: MessageName): boolean {
    const bytes = Buffer.byteLength(text);
    const problem = problemOf(text, bytes);
    if (problem !== undefined) {
      this.#setAside(seq, problem);
      return false;
    }
    this.#inFlight.set(seq, { bytes, name });
    this.#deps.session.send(text);
    return true;
  }

  /** Replaces the frame by one without the content of the message (I10). */
  #reportSetAside({ seq, guid }: OutboxEntry): false {
    const { outbox, clock } = this.#deps;
    this.#setAside(seq, 'the agent crashed twice while it sent this frame');
    if (guid !== undefined) outbox.put(setAsideFrame(guid, undefined, clock.now()), clock.now());
    return false;
  }

  acknowledge({ seq, outcome, reason }: AckFrame): void {
    const { outbox, suspects, clock, log } = this.#deps;
    const name = this.#inFlight.get(seq)?.name;
    if (name !== undefined) suspects.acquit(name);
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
    const { outbox, suspects, onReleased, clock, log } = this.#deps;
    const isReleased = outbox.takeSetAside(seq, (guid) => {
      suspects.release(inboundName(guid));
      onReleased(guid);
    });
    if (isReleased) return log.info({ event: 'link.released', seq }, 'set-aside message released');
    const again = outbox.redeliver(seq, clock.now());
    if (again === undefined)
      log.warn({ event: 'link.redeliver_unknown', seq }, 'frame to redeliver not found');
    else log.info({ event: 'link.redelivered', seq, again }, 'frame queued for redelivery');
    this.flush();
  }

  /** Call after close code 1009, which does not name the frame. The largest frame in flight is the likely cause. */
  setAsideLargest(): void {
    const [largest] = [...this.#inFlight].toSorted(([, one], [, other]) => other.bytes - one.bytes);
    if (largest !== undefined) this.#setAside(largest[0], 'too large for the service');
  }

  #setAside(seq: number, reason: string): void {
    const { outbox, clock, log } = this.#deps;
    outbox.setAside(seq, reason, clock.now());
    this.#inFlight.delete(seq);
    log.error({ event: 'link.frame_set_aside', seq, reason }, 'frame cannot be delivered, set aside');
  }
}

function nameOf({ seq, guid }: OutboxEntry): MessageName {
  return guid === undefined ? `frame ${seq}` : inboundName(guid);
}

/** Returns why the service would not accept the frame, or undefined. */
function problemOf(text: string, bytes: number): string | undefined {
  if (bytes > MAX_FRAME_BYTES) return `${bytes} bytes exceed the limit of ${MAX_FRAME_BYTES}`;
  const parsed = parseMacFrame(text);
  if (parsed.kind === 'frame') return undefined;
  return parsed.kind === 'invalid' ? parsed.reason : `unknown type ${parsed.type}`;
}
