import { writeFrame } from '@footbridge/protocol/frames';
import type { ReachResultFrame, RegisteredFrame, StateFrame } from '@footbridge/protocol/frames';
import type { Clock } from '@footbridge/runtime/clock';
import type { BlockingFailpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';

import type { Outbox } from '../../journal/journal.ts';
import { afterClose, backoffMs, JITTER_ATTEMPT, retry } from './after-close.ts';
import type { NextAction } from './after-close.ts';
import { detectSleep } from './detect-sleep.ts';
import type { LinkState } from './link-state.ts';
import { OutboxSender } from './outbox-sender.ts';
import type { OutboxSenderDeps } from './outbox-sender.ts';
import type { OpenSession, Session, SessionHandlers } from './session.ts';

/** Supplies the device token. */
export interface TokenSource {
  /** Returns the saved token, or activates the device if there is none. */
  token(): Promise<TokenResult>;
  /** Activates the device again, which invalidates the saved token. */
  renew(): Promise<TokenResult>;
}

export type TokenResult =
  | { readonly ok: true; readonly token: string }
  | {
      readonly ok: false;
      /** Retrying cannot help: a person must act. */
      readonly final: boolean;
      readonly code: string;
      readonly message: string;
      readonly retryAfterMs?: number;
    };

export interface LinkSettings {
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  /** Delay after close code 4000. */
  readonly protocolWaitMs: number;
  readonly wakeCheckMs: number;
  /** The Mac slept if the wall clock advanced by this much more than the monotonic clock. */
  readonly wakeToleranceMs: number;
}

export interface LinkDeps
  extends
    Pick<SessionHandlers, 'onSend' | 'onInvalidSend' | 'onSetAside' | 'onAllowed'>,
    Pick<OutboxSenderDeps, 'suspects' | 'onReleased'> {
  readonly tokens: TokenSource;
  readonly openSession: OpenSession;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: BlockingFailpoint;
  readonly random: () => number;
  readonly settings: LinkSettings;
  readonly onState: (state: LinkState) => void;
  readonly onRegistered: (frame: RegisteredFrame) => void;
  /** Returns by which service a person was last reached, for the operator. */
  readonly readReach: (phone: string) => Pick<ReachResultFrame, 'reach' | 'reason'>;
}

/** Keeps the agent connected to the service: opens a session, and after it ends applies the rules of `afterClose`. */
export class Link {
  readonly #deps: LinkDeps;
  readonly #stop = new AbortController();
  #wait = new AbortController();
  #session: Session | undefined;
  #sender: OutboxSender | undefined;
  #attempt = 0;
  #registeredAt: number | undefined;
  /** Prevents a renewal loop: a token that is rejected right after its renewal is not renewed again. */
  #renewed = false;
  #framesIgnored = 0;

  constructor(deps: LinkDeps) {
    this.#deps = deps;
  }

  /** Resolves after `stop`, or when the agent must not reconnect. */
  async run(): Promise<LinkState> {
    const { clock, settings, onState } = this.#deps;
    const stopDetecting = detectSleep(
      clock,
      { everyMs: settings.wakeCheckMs, toleranceMs: settings.wakeToleranceMs },
      () => this.#woke(),
    );
    try {
      for (;;) {
        const end = await this.#apply(await this.#connectOnce());
        if (end !== undefined) {
          onState(end);
          return end;
        }
      }
    } finally {
      stopDetecting();
    }
  }

  /** The number of frames from the service that were ignored since the start. */
  get framesIgnored(): number {
    return this.#framesIgnored;
  }

  /** Sends new frames of the outbox. Without a session they wait for the next one. */
  flush(): void {
    this.#sender?.flush();
  }

  /** Sends a `state` frame over the registered session. Returns false when there is none. */
  sendState(frame: StateFrame): boolean {
    if (this.#registeredAt === undefined || this.#session?.isOpen() !== true) return false;
    this.#session.send(writeFrame(frame));
    return true;
  }

  stop(): void {
    this.#stop.abort();
    this.#wait.abort();
    this.#session?.end('stopped');
  }

  async #connectOnce(): Promise<NextAction> {
    const { tokens, onState } = this.#deps;
    if (this.#stop.signal.aborted) return { do: 'stop' };
    onState({ state: 'connecting' });
    const result = await tokens.token();
    if (!result.ok) return afterTokenFailure(result);
    if (this.#stop.signal.aborted) return { do: 'stop' };
    const next = await this.#runSession(result.token);
    if (next.do !== 'renew-token') return next;
    if (this.#renewed) {
      return {
        do: 'stay-away',
        code: 4503,
        because: 'the service rejects this device even with a new token',
      };
    }
    this.#renewed = true;
    const renewed = await tokens.renew();
    return renewed.ok
      ? { do: 'reconnect', wait: 0, because: 'the token was renewed' }
      : afterTokenFailure(renewed);
  }

  async #runSession(token: string): Promise<NextAction> {
    const { openSession, clock, settings, onSend, onInvalidSend, onSetAside, onAllowed, readReach } =
      this.#deps;
    this.#registeredAt = undefined;
    const session = openSession(token, {
      onSend,
      onInvalidSend,
      onSetAside,
      onAllowed,
      onRegistered: (frame) => this.#registered(frame, sender),
      onAck: (frame) => sender.acknowledge(frame),
      onRedeliver: (seq) => sender.redeliver(seq),
      onReachRequest: ({ requestId, phone }) =>
        session.send(writeFrame({ type: 'reach_result', requestId, ...readReach(phone) })),
      onIgnored: () => {
        this.#framesIgnored += 1;
      },
    });
    const sender = new OutboxSender({ ...this.#deps, session });
    this.#session = session;
    this.#sender = sender;
    const next = afterClose(await session.ended, settings);
    this.#session = undefined;
    this.#sender = undefined;
    if (next.do === 'reconnect' && next.tooLarge === true) sender.setAsideLargest();
    // Only a lasting connection resets the backoff: repeated short ones must slow down.
    const livedMs = this.#registeredAt === undefined ? 0 : clock.monotonic() - this.#registeredAt;
    if (livedMs >= settings.backoffCapMs) this.#attempt = 0;
    return next;
  }

  async #apply(next: NextAction): Promise<LinkState | undefined> {
    if (next.do === 'stop' || this.#stop.signal.aborted) return { state: 'stopped' };
    if (next.do === 'stay-away') return { state: 'away', code: next.code, because: next.because };
    if (next.do === 'reconnect') {
      await this.#sleep(typeof next.wait === 'number' ? next.wait : this.#delay(next.wait), next.because);
    }
    return undefined;
  }

  #delay(kind: 'jitter' | 'backoff'): number {
    const { random, settings } = this.#deps;
    const bounds = { baseMs: settings.backoffBaseMs, capMs: settings.backoffCapMs };
    if (kind === 'jitter') return backoffMs(JITTER_ATTEMPT, random(), bounds);
    this.#attempt += 1;
    return backoffMs(this.#attempt - 1, random(), bounds);
  }

  async #sleep(ms: number, because: string): Promise<void> {
    const { clock, onState } = this.#deps;
    onState({ state: 'waiting', because, ms });
    this.#wait = new AbortController();
    await clock.sleep(ms, AbortSignal.any([this.#wait.signal, this.#stop.signal]));
  }

  #registered(frame: RegisteredFrame, sender: OutboxSender): void {
    this.#renewed = false;
    this.#registeredAt = this.#deps.clock.monotonic();
    this.#deps.onRegistered(frame);
    this.#deps.onState({ state: 'registered', sessionId: frame.sessionId });
    sender.open(frame.window);
  }

  #woke(): void {
    this.#wait.abort();
    this.#session?.end('woke');
  }
}

function afterTokenFailure(failure: Extract<TokenResult, { ok: false }>): NextAction {
  const because = `${failure.message} (${failure.code})`;
  if (!failure.final) return retry(because, failure.retryAfterMs);
  return { do: 'stay-away', code: failure.code, because };
}
