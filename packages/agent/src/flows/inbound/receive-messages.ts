import type { Clock } from '../../clock.ts';
import type { Failpoint } from '../../failpoint.ts';
import type { Log } from '../../log.ts';
import type { PendingRow, Journal } from '../../ports/journal/journal.ts';
import type { LocalFile, Messages, StoredRow } from '../../ports/messages/messages.ts';
import { describeMessage, isNews } from './build-received-frame.ts';

export type Uploaded =
  | { readonly ok: true; readonly url: string }
  /** `final`: this file will not be taken, now or later. */
  | { readonly ok: false; readonly final: boolean; readonly reason: string };

/** Gives a file an address that the CRM can open. */
export interface Uploads {
  upload(file: LocalFile, signal: AbortSignal): Promise<Uploaded>;
}

export interface ReceiveSettings {
  /** The store tells when it changes; this is for when it forgets to. */
  readonly pollMs: number;
  /** Messages writes a row before it files it under a chat. */
  readonly filingWaitMs: number;
  /** How long a message waits for its files before it goes without them. */
  readonly attachmentWaitMs: number;
  /** Older messages that appear suddenly are history that was synced, not news. */
  readonly maxAgeMs: number;
  readonly retryBaseMs: number;
  readonly retryCapMs: number;
}

export interface ReceiveParts {
  readonly messages: Messages;
  readonly journal: Journal;
  readonly uploads: Uploads;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: Failpoint;
  readonly settings: ReceiveSettings;
  readonly onFrames: () => void;
}

const BATCH = 100;
const RECHECK_MS = 250;
const MOST_ATTEMPTS = 20;

/**
 * Turns what arrives in the store into frames: each message once, in order within its chat. A row is noted in the
 * journal in the same write that moves the cursor past it, and leaves it in the same write that puts its frame into
 * the outbox, so no crash loses or doubles one. A message that waits for a file holds up its own chat and no other.
 */
export class Receiver {
  readonly #parts: ReceiveParts;
  readonly #stopping = new AbortController();
  readonly #lanes = new Map<number, Promise<void>>();
  #unwatch: () => void = () => {};
  #running: Promise<void> | undefined;
  #changed = new AbortController();
  #unfiledSince: { rowid: number; at: number } | undefined;

  constructor(parts: ReceiveParts) {
    this.#parts = parts;
  }

  start(): void {
    const { messages, journal } = this.#parts;
    const { store } = messages;
    // The first start of all begins with what comes from now on.
    if (journal.inbox.cursor(store.identity()) === undefined) {
      journal.inbox.moveCursor(store.identity(), store.newestRowid());
    }
    for (const held of journal.inbox.pending()) this.#enter(held);
    this.#unwatch = messages.watch(() => this.#changed.abort());
    this.#running = this.#run();
  }

  /** Messages that were seen and are not in the outbox yet. */
  waiting(): number {
    return this.#parts.journal.inbox.pending().length;
  }

  async stop(): Promise<void> {
    this.#unwatch();
    this.#stopping.abort();
    await this.#running;
    await Promise.all(this.#lanes.values());
  }

  async #run(): Promise<void> {
    const { clock, settings, log } = this.#parts;
    while (!this.#stopping.signal.aborted) {
      this.#changed = new AbortController();
      let wait = settings.pollMs;
      try {
        if (!this.#scan()) wait = RECHECK_MS;
      } catch (error) {
        log.error({ err: error }, 'the message store could not be read; it is tried again');
      }
      await clock.sleep(wait, this.#untilChange());
    }
  }

  /** False when a row has to be looked at again soon. */
  #scan(): boolean {
    const { messages, journal } = this.#parts;
    const { store } = messages;
    for (;;) {
      const rows = store.rowsAfter(journal.inbox.cursor(store.identity()) ?? store.newestRowid(), BATCH);
      for (const row of rows) if (!this.#take(row, store.identity())) return false;
      if (rows.length < BATCH) return true;
    }
  }

  #take(row: StoredRow, identity: string): boolean {
    const { journal, clock, failpoint } = this.#parts;
    const now = clock.now();
    if (isNews(row) && row.chatId === undefined && this.#mayStillBeFiled(row.rowid)) return false;
    const held: PendingRow = { rowid: row.rowid, guid: row.guid, since: now };
    const taken = journal.transaction(() => {
      journal.inbox.moveCursor(identity, row.rowid);
      // A row can be old news under a new number: a synced store numbers its messages anew.
      if (!this.#isWanted(row, now) || !journal.inbox.markSeen(row.guid, now)) return false;
      journal.inbox.addPending(held);
      return true;
    });
    failpoint('inbound.held');
    if (taken) this.#enter(held, row.chatId);
    return true;
  }

  #isWanted(row: StoredRow, now: number): boolean {
    if (!isNews(row)) return false;
    const { log, settings } = this.#parts;
    if (row.chatId === undefined) {
      log.warn({ guid: row.guid }, 'a message was never filed under a chat and is left out');
      return false;
    }
    if (now - row.sentAt > settings.maxAgeMs) {
      log.warn({ guid: row.guid }, 'an old message appeared, probably by a sync, and is left out');
      return false;
    }
    return true;
  }

  #mayStillBeFiled(rowid: number): boolean {
    const { clock, settings } = this.#parts;
    if (this.#unfiledSince?.rowid !== rowid) this.#unfiledSince = { rowid, at: clock.monotonic() };
    return clock.monotonic() - this.#unfiledSince.at < settings.filingWaitMs;
  }

  /** Each chat is a lane of its own; within it, one message after the other. */
  #enter(held: PendingRow, chatId?: number): void {
    const lane = chatId ?? this.#parts.messages.store.row(held.rowid)?.chatId ?? 0;
    const before = this.#lanes.get(lane) ?? Promise.resolve();
    const after = before
      .then(() => this.#deliverAtLast(held))
      .catch((error: unknown) => {
        this.#parts.log.error({ err: error, guid: held.guid }, 'an inbound message waits for the next start');
      })
      .finally(() => {
        if (this.#lanes.get(lane) === after) this.#lanes.delete(lane);
      });
    this.#lanes.set(lane, after);
  }

  /** Trouble such as a full disk passes; until then the chat waits, so that its order stays. */
  async #deliverAtLast(held: PendingRow): Promise<void> {
    const { log } = this.#parts;
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      try {
        return await this.#deliver(held);
      } catch (error) {
        log.error({ err: error, guid: held.guid, attempt }, 'an inbound message could not be kept');
        await this.#pause(attempt);
      }
    }
    await this.#deliver(held);
  }

  async #deliver(held: PendingRow): Promise<void> {
    const { messages, journal, clock, failpoint, onFrames, log } = this.#parts;
    const row = await this.#whenComplete(held);
    if (row === undefined) return;
    const chat = row === 'gone' ? undefined : messages.store.chat(row.chatId ?? 0);
    if (row === 'gone' || chat === undefined) {
      journal.inbox.removePending(held.rowid);
      return;
    }
    const urls = await this.#uploadAll(row);
    if (urls === undefined) return;
    const [file] = row.attachments;
    const duration = row.isVoice && file !== undefined ? messages.audioDuration(file) : undefined;
    const frame = describeMessage(row, chat, urls, duration);
    failpoint('inbound.before');
    journal.durableTransaction(() => {
      journal.outbox.put(frame, clock.now());
      journal.inbox.removePending(held.rowid);
    });
    failpoint('inbound.after');
    log.info(
      { guid: row.guid, chatId: chat.id, service: row.service, files: urls.length },
      'message received',
    );
    onFrames();
  }

  /** Waits for late files. Undefined when the agent stops first. */
  async #whenComplete(held: PendingRow): Promise<StoredRow | 'gone' | undefined> {
    const { messages, clock, settings, log } = this.#parts;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const row = messages.store.row(held.rowid);
      if (row?.guid !== held.guid || !isNews(row)) return 'gone';
      const missing = row.expectsAttachments && row.attachments.length === 0;
      if (!missing && row.attachments.every((file) => file.ready)) return row;
      const left = held.since + settings.attachmentWaitMs - clock.now();
      if (left <= 0) {
        log.warn({ guid: row.guid }, 'a file did not arrive in time; the message goes without it');
        return row;
      }
      await clock.sleep(Math.min(RECHECK_MS, left), signal);
    }
    return undefined;
  }

  /** A file that is refused for good is left out; any other trouble is waited out. Undefined when the agent stops. */
  async #uploadAll(row: StoredRow): Promise<string[] | undefined> {
    const { log } = this.#parts;
    const urls: string[] = [];
    for (const { path, name, mime, ready } of row.attachments) {
      if (!ready || path === undefined) continue;
      const uploaded = await this.#uploadOne({ path, name, mime });
      if (uploaded === undefined) return undefined;
      if (uploaded.ok) urls.push(uploaded.url);
      else
        log.warn(
          { guid: row.guid, reason: uploaded.reason },
          'a file was refused; the message goes without it',
        );
    }
    return urls;
  }

  async #uploadOne(file: LocalFile): Promise<Uploaded | undefined> {
    const { uploads, log } = this.#parts;
    const { signal } = this.#stopping;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const uploaded = await uploads.upload(file, signal);
      if (uploaded.ok || uploaded.final) return uploaded;
      log.warn({ reason: uploaded.reason, attempt }, 'a file could not be handed over; it is tried again');
      await this.#pause(attempt);
    }
    return undefined;
  }

  async #pause(attempt: number): Promise<void> {
    const { clock, settings } = this.#parts;
    const bound = Math.min(settings.retryCapMs, settings.retryBaseMs * 2 ** Math.min(attempt, 20));
    await clock.sleep(bound / 2 + (Math.random() * bound) / 2, this.#stopping.signal);
  }

  #untilChange(): AbortSignal {
    return AbortSignal.any([this.#changed.signal, this.#stopping.signal]);
  }
}
