import { randomBytes } from 'node:crypto';

import type { StateFrame } from '@footbridge/protocol/frames';
import { readObject } from '@footbridge/protocol/read-json';
import { every } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';
import { isQuiet } from '@footbridge/runtime/quiet-hours';
import type { QuietHours } from '@footbridge/runtime/quiet-hours';

import { StoreUnavailableError } from '../../ports/messages/messages.ts';
import type { MessageStore, StoredRow } from '../../ports/messages/messages.ts';
import type { StoreMemory } from '../../ports/messages/store-generation.ts';
import type { Outcome } from '../../outcome.ts';

export interface CanaryDeps {
  readonly settings: { readonly intervalMs: number; readonly quietHours: QuietHours | undefined };
  readonly store: Pick<MessageStore, 'ownHandles' | 'newestRowid' | 'rowsAfter' | 'sendState'>;
  /** Sends a text by iMessage once no other send is in progress. Calls `begin` right before. */
  readonly send: (handle: string, text: string, begin: () => void) => Promise<Outcome>;
  /** Keeps the state across restarts. */
  readonly memory: StoreMemory;
  /** Whether the agent is connected to the service. Without a network, a canary proves nothing. */
  readonly isConnected: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** The state that survives a restart. Times are wall-clock times. */
interface Saved {
  readonly lastAt?: number;
  readonly lastText?: string;
  readonly lastOkAt?: number;
  /** When the first unconfirmed canary was sent. Set once the line counts as failing. */
  readonly failedSince?: number;
  readonly code?: string;
}

const TICK_MS = 2_000;
/** Gives Messages time to connect after a start. */
const START_MS = 60_000;
/** How long a canary waits for its receipt or its incoming copy. */
const CONFIRM_MS = 100_000;
/** By then a second canary is also unconfirmed. The operator must learn of it within five minutes. */
const FAILED_MS = 240_000;
/** The maximum interval between canaries on a failing line. */
const RETRY_MS = 900_000;
const NEW_ROWS = 100;
const PREFIX = 'Footbridge line check ';

/**
 * Periodically sends a text to the line's own number. When two in a row get neither a delivery receipt nor an incoming copy, iMessage does
 * not work on this Mac, even if everything else looks healthy. A canary is not a job: it is not reported to the CRM and does not count towards
 * the limits of the line.
 */
export class Canary {
  readonly #deps: CanaryDeps;
  readonly #stopping = new AbortController();
  #saved: Saved;
  #isSending = false;
  /** The number of unconfirmed canaries in a row. */
  #unconfirmed: number;
  /** When the first unconfirmed canary was sent, by the monotonic clock, because the Mac may sleep in between. */
  #unconfirmedSince: number | undefined;
  #lastGuid: string | undefined;
  #startedAt = 0;

  constructor(deps: CanaryDeps) {
    this.#deps = deps;
    this.#saved = parse(deps.memory.load());
    this.#unconfirmed = this.#saved.failedSince === undefined ? 0 : 2;
  }

  /** Sends canaries until the returned function is called. */
  start(): () => void {
    const { clock } = this.#deps;
    this.#startedAt = clock.monotonic();
    const stop = every(clock, TICK_MS, () => this.#tick());
    return () => {
      stop();
      this.#stopping.abort();
    };
  }

  state(): NonNullable<StateFrame['canary']> {
    const { lastOkAt, failedSince, code } = this.#saved;
    return {
      lastOkAt: lastOkAt === undefined ? null : new Date(lastOkAt).toISOString(),
      ...(failedSince !== undefined && { failedSince: new Date(failedSince).toISOString() }),
      ...(failedSince !== undefined && code !== undefined && { code }),
    };
  }

  /** Returns whether a row is the latest canary or its incoming copy. */
  isCanary({ text }: Pick<StoredRow, 'text'>): boolean {
    return text !== '' && text === this.#saved.lastText;
  }

  #tick(): void {
    const { isConnected, log } = this.#deps;
    try {
      if (!isConnected() && this.#saved.failedSince === undefined) this.#reset();
      if (!this.#isSending && this.#unconfirmed > 0 && this.#isConfirmed(undefined)) this.#confirmed();
      this.#judge();
      const handle = this.#isDue() ? this.#ownHandle() : undefined;
      if (handle !== undefined) void this.#sendOne(handle);
    } catch (error) {
      log.error({ event: 'canary.error', err: error }, 'canary not sent, will retry');
    }
  }

  #isDue(): boolean {
    const { settings, isConnected, clock } = this.#deps;
    const now = clock.now();
    if (this.#isSending || !isConnected() || clock.monotonic() - this.#startedAt < START_MS) return false;
    if (settings.quietHours !== undefined && isQuiet(settings.quietHours, now)) return false;
    if (this.#unconfirmed === 1) return true;
    const pauseMs = this.#unconfirmed === 0 ? settings.intervalMs : Math.min(settings.intervalMs, RETRY_MS);
    // A clock that was set back must not stop the canaries.
    return Math.abs(now - (this.#saved.lastAt ?? 0)) >= pauseMs;
  }

  /** Prefers a phone number. Returns undefined before the first conversation in Messages. */
  #ownHandle(): string | undefined {
    const handles = whileReadable(() => this.#deps.store.ownHandles()) ?? [];
    return handles.find((handle) => handle.startsWith('+')) ?? handles[0];
  }

  async #sendOne(handle: string): Promise<void> {
    const { store, send, clock, log } = this.#deps;
    const { signal } = this.#stopping;
    const text = PREFIX + randomBytes(4).toString('hex');
    let sinceRow: number | undefined;
    this.#isSending = true;
    try {
      const result = await send(handle, text, () => {
        // The agent may have stopped while this canary waited for another send.
        signal.throwIfAborted();
        sinceRow = whileReadable(() => store.newestRowid());
        this.#unconfirmedSince ??= clock.monotonic();
        this.#save({ lastAt: clock.now(), lastText: text });
      });
      this.#lastGuid = result.state === 'delivered' ? result.guid : undefined;
      const deadline = clock.monotonic() + CONFIRM_MS;
      for (;;) {
        if (signal.aborted) return;
        if (this.#isConfirmed(sinceRow)) return this.#confirmed();
        if (clock.monotonic() >= deadline) break;
        await clock.sleep(TICK_MS, signal);
      }
      this.#unconfirmed++;
      this.#save({ code: result.state === 'delivered' ? 'NO_RECEIPT' : result.code });
    } catch (error) {
      if (signal.aborted) return;
      this.#unconfirmed++;
      log.warn({ event: 'canary.error', err: error }, 'canary not sent, will retry');
    } finally {
      this.#isSending = false;
    }
  }

  #isConfirmed(sinceRow: number | undefined): boolean {
    const { store } = this.#deps;
    const isConfirmed = whileReadable(
      () =>
        (this.#lastGuid !== undefined && store.sendState(this.#lastGuid)?.delivered === true) ||
        (sinceRow !== undefined &&
          store.rowsAfter(sinceRow, NEW_ROWS).some((row) => !row.fromMe && this.isCanary(row))),
    );
    return isConfirmed === true;
  }

  #confirmed(): void {
    const { clock, log } = this.#deps;
    if (this.#saved.failedSince !== undefined)
      log.info({ event: 'canary.confirmed_again' }, 'canary confirmed again, iMessage works');
    this.#reset();
    const { failedSince: _failedSince, code: _code, ...kept } = this.#saved;
    this.#saved = kept;
    this.#save({ lastOkAt: clock.now() });
  }

  #reset(): void {
    this.#unconfirmed = 0;
    this.#unconfirmedSince = undefined;
    this.#lastGuid = undefined;
  }

  #judge(): void {
    const { clock, log } = this.#deps;
    if (this.#unconfirmedSince === undefined || this.#saved.failedSince !== undefined) return;
    const elapsedMs = clock.monotonic() - this.#unconfirmedSince;
    if (elapsedMs < FAILED_MS || (this.#unconfirmed < 2 && !this.#isSending)) return;
    this.#save({ failedSince: clock.now() - elapsedMs });
    log.warn(
      { event: 'canary.failed', code: this.#saved.code },
      'canary not delivered, iMessage may not work on this Mac',
    );
  }

  #save(changes: Saved): void {
    this.#saved = { ...this.#saved, ...changes };
    this.#deps.memory.save(JSON.stringify(this.#saved));
  }
}

/** Returns undefined while the store is unreadable: the receiver reports that. */
function whileReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof StoreUnavailableError) return undefined;
    throw error;
  }
}

/** Returns an empty state for an unreadable note: the next canary overwrites it. */
const parse = (note: string | undefined): Saved => readObject(note ?? '');
