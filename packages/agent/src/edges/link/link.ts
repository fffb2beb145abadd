import type { RegisteredFrame } from '@footbridge/protocol/frames';

import { afterClose, backoffMs, JITTER_ATTEMPT } from './after-close.ts';
import type { Next } from './after-close.ts';
import { Session } from './session.ts';
import type { SessionParts, SessionSettings } from './session.ts';
import { watchForWake } from './wake.ts';

/** Where the token comes from. */
export interface Credentials {
  /** The token that is kept, or a new one. */
  token(): Promise<Credential>;
  /** The kept one was refused: asks for another, which ends the old one. */
  renew(): Promise<Credential>;
}

export type Credential =
  | { readonly ok: true; readonly token: string }
  | {
      readonly ok: false;
      readonly final: boolean;
      readonly code: string;
      readonly message: string;
      readonly retryAfterMs?: number;
    };

export type LinkState =
  | { readonly state: 'connecting' }
  | { readonly state: 'registered'; readonly sessionId: string }
  | { readonly state: 'waiting'; readonly because: string; readonly ms: number }
  | Away
  | { readonly state: 'stopped' };

/** The agent was told to stay away, or is not allowed in: a person must act. */
export interface Away {
  readonly state: 'away';
  /** A close code, or the code with which the license was refused. */
  readonly code: number | string;
  readonly because: string;
}

export interface LinkSettings extends SessionSettings {
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  /** After 4000. */
  readonly protocolWaitMs: number;
  readonly wakeCheckMs: number;
  /** The wall clock may run ahead of the monotonic one by this much without meaning sleep. */
  readonly wakeToleranceMs: number;
}

export interface LinkParts extends Omit<SessionParts, 'settings' | 'onRegistered' | 'onIgnored'> {
  readonly credentials: Credentials;
  readonly settings: LinkSettings;
  readonly onState: (state: LinkState) => void;
  readonly random: () => number;
}

/** Keeps the agent connected to the service for as long as it is welcome. */
export class Link {
  readonly #parts: LinkParts;
  readonly #stop = new AbortController();
  #nap = new AbortController();
  #session: Session | undefined;
  #attempt = 0;
  #registeredAt: number | undefined;
  /** A token that is refused right after it was renewed will not get better by asking again. */
  #renewed = false;
  #ignored = 0;

  constructor(parts: LinkParts) {
    this.#parts = parts;
  }

  /** Runs until `stop`, or until the service says to stay away. */
  async run(): Promise<LinkState> {
    const { clock, settings, onState } = this.#parts;
    const unwatch = watchForWake(
      clock,
      { everyMs: settings.wakeCheckMs, toleranceMs: settings.wakeToleranceMs },
      () => this.#woke(),
    );
    try {
      for (;;) {
        const next = await this.#connectOnce();
        const end = await this.#follow(next);
        if (end !== undefined) {
          onState(end);
          return end;
        }
      }
    } finally {
      unwatch();
    }
  }

  /** Frames of the service that were not understood, since the start. */
  get framesIgnored(): number {
    return this.#ignored;
  }

  /** There is something new in the outbox. */
  notify(): void {
    this.#session?.pump();
  }

  stop(): void {
    this.#stop.abort();
    this.#nap.abort();
    this.#session?.end('stopped');
  }

  async #connectOnce(): Promise<Next> {
    const { credentials, onState } = this.#parts;
    if (this.#stop.signal.aborted) return { do: 'stop' };
    onState({ state: 'connecting' });
    const credential = await credentials.token();
    if (!credential.ok) return unwelcome(credential);
    if (this.#stop.signal.aborted) return { do: 'stop' };
    const next = await this.#hold(credential.token);
    if (next.do !== 'renew-token') return next;
    if (this.#renewed) {
      return {
        do: 'stay-away',
        code: 4503,
        because: 'the service refuses this device, also with a new token',
      };
    }
    this.#renewed = true;
    const renewed = await credentials.renew();
    return renewed.ok ? { do: 'reconnect', wait: 0, because: 'the token was renewed' } : unwelcome(renewed);
  }

  async #hold(token: string): Promise<Next> {
    const { clock, settings } = this.#parts;
    this.#registeredAt = undefined;
    const session = new Session(
      {
        ...this.#parts,
        onRegistered: (frame) => this.#registered(frame),
        onIgnored: () => {
          this.#ignored += 1;
        },
      },
      token,
    );
    this.#session = session;
    const next = afterClose(await session.ended, settings);
    this.#session = undefined;
    if (next.do === 'reconnect' && next.tooLarge === true) session.setAsideLargest();
    // Coming back at once is for connections that worked: one that is cut again and again has to slow down.
    const livedMs = this.#registeredAt === undefined ? 0 : clock.monotonic() - this.#registeredAt;
    if (livedMs >= settings.backoffCapMs) this.#attempt = 0;
    return next;
  }

  async #follow(next: Next): Promise<LinkState | undefined> {
    if (next.do === 'stop' || this.#stop.signal.aborted) return { state: 'stopped' };
    if (next.do === 'stay-away') return { state: 'away', code: next.code, because: next.because };
    if (next.do === 'reconnect') {
      await this.#wait(typeof next.wait === 'number' ? next.wait : this.#pause(next.wait), next.because);
    }
    return undefined;
  }

  #pause(kind: 'jitter' | 'backoff'): number {
    const { random, settings } = this.#parts;
    const bounds = { baseMs: settings.backoffBaseMs, capMs: settings.backoffCapMs };
    if (kind === 'jitter') return backoffMs(JITTER_ATTEMPT, random(), bounds);
    this.#attempt += 1;
    return backoffMs(this.#attempt - 1, random(), bounds);
  }

  async #wait(ms: number, because: string): Promise<void> {
    const { clock, onState } = this.#parts;
    onState({ state: 'waiting', because, ms });
    this.#nap = new AbortController();
    await clock.sleep(ms, AbortSignal.any([this.#nap.signal, this.#stop.signal]));
  }

  #registered(frame: RegisteredFrame): void {
    this.#renewed = false;
    this.#registeredAt = this.#parts.clock.monotonic();
    this.#parts.onState({ state: 'registered', sessionId: frame.sessionId });
  }

  #woke(): void {
    this.#nap.abort();
    this.#session?.end('woke');
  }
}

function unwelcome(credential: Extract<Credential, { ok: false }>): Next {
  const because = `${credential.message} (${credential.code})`;
  if (!credential.final) return { do: 'reconnect', wait: credential.retryAfterMs ?? 'backoff', because };
  return { do: 'stay-away', code: credential.code, because };
}
