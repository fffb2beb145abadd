import type { Clock } from '@footbridge/runtime/clock';
import type { BlockingFailpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';
import { SerialByKey } from '@footbridge/runtime/serial-by-key';

import type { Journal, PendingRow } from '../../ports/journal/journal.ts';
import type { LocalFile, Messages, StoredRow } from '../../ports/messages/messages.ts';
import { LINK_PREVIEW, StoreUnavailableError } from '../../ports/messages/messages.ts';
import { buildReceivedFrame, isReportable } from './build-received-frame.ts';
import { recordStoreState } from './store-state.ts';

export type UploadResult =
  | { readonly ok: true; readonly url: string }
  /** `final`: the service will never accept this file. */
  | { readonly ok: false; readonly final: boolean; readonly reason: string };

/** Uploads a file to the service, which returns a URL for the CRM. Makes one attempt and never rejects. */
export interface Uploads {
  upload(file: LocalFile, signal: AbortSignal): Promise<UploadResult>;
}

export interface ReceiverSettings {
  /** Poll interval, for changes that the store did not announce. */
  readonly pollMs: number;
  /** Messages inserts a row before it joins the row to a chat. */
  readonly chatJoinTimeoutMs: number;
  /** How long a message waits for its attachments before it is sent without them. */
  readonly attachmentWaitMs: number;
  /** Messages inserts some rows before their body. */
  readonly bodyWaitMs: number;
  /** How long a link preview waits for the text that it belongs to. */
  readonly previewWaitMs: number;
  /** Whether messages from unknown senders and junk are reported. */
  readonly forwardFiltered: boolean;
  /** Older messages come from a history sync and are not reported. */
  readonly maxAgeMs: number;
  readonly retryBaseMs: number;
  readonly retryCapMs: number;
}

export interface ReceiverDeps {
  readonly messages: Pick<Messages, 'store' | 'watch' | 'audioDuration'>;
  readonly journal: Journal;
  readonly uploads: Uploads;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: BlockingFailpoint;
  readonly settings: ReceiverSettings;
  /** Called when there are new frames in the outbox. */
  readonly onFrames: () => void;
}

const BATCH = 100;
const RECHECK_MS = 250;
const MAX_RETRIES = 20;

/**
 * Puts a frame into the outbox for every new message in the store, once and in order within its chat. One transaction moves
 * the cursor past a row and makes the row pending; another one replaces the pending row by its frame. So a crash neither
 * loses nor duplicates a message. A message that waits for an attachment blocks its own chat only.
 */
export class Receiver {
  readonly #deps: ReceiverDeps;
  readonly #stopping = new AbortController();
  readonly #byChat = new SerialByKey<PendingRow, void, number>();
  #unwatch: () => void = () => {};
  #running: Promise<void> | undefined;
  #changed = new AbortController();
  #withoutChat: { rowid: number; since: number } | undefined;
  #hasResumed = false;
  #problem: string | undefined;

  constructor(deps: ReceiverDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#unwatch = this.#deps.messages.watch(() => this.#changed.abort());
    this.#running = this.#run();
  }

  /** Number of messages that were read and have no frame in the outbox yet. */
  pendingCount(): number {
    return this.#deps.journal.inbox.pending().length;
  }

  async stop(): Promise<void> {
    this.#unwatch();
    this.#stopping.abort();
    await this.#running;
    await this.#byChat.idle();
  }

  async #run(): Promise<void> {
    const { clock, settings, log } = this.#deps;
    while (!this.#stopping.signal.aborted) {
      this.#changed = new AbortController();
      let wait = settings.pollMs;
      try {
        if (!this.#scan()) wait = RECHECK_MS;
        if (this.#problem !== undefined)
          log.info({ event: 'inbound.store_readable' }, 'message store readable again');
        this.#problem = undefined;
      } catch (error) {
        // Logged once per problem: a missing permission can last for days.
        const problem = error instanceof Error ? error.message : 'unknown';
        if (problem !== this.#problem)
          log.error(
            { event: 'inbound.store_not_readable', err: error },
            'message store not readable, will retry',
          );
        this.#problem = problem;
      }
      this.#recordState();
      await clock.sleep(wait, this.#untilChange());
    }
  }

  #recordState(): void {
    const { messages, journal, log } = this.#deps;
    try {
      recordStoreState(messages.store.state(), journal);
    } catch (error) {
      log.error({ event: 'journal.store_state_not_saved', err: error }, 'store state not saved');
    }
  }

  /** Reads all new rows. Returns false when a row is not complete and must be read again soon. */
  #scan(): boolean {
    const { store } = this.#deps.messages;
    this.#resume();
    for (;;) {
      const { generation, rowid } = this.#cursor();
      const rows = store.rowsAfter(rowid, BATCH);
      for (const row of rows) if (!this.#read(row, generation)) return false;
      if (rows.length < BATCH) return true;
    }
  }

  /** Continues with the rows that were pending when the agent stopped. */
  #resume(): void {
    if (this.#hasResumed) return;
    const { messages, journal } = this.#deps;
    this.#cursor();
    const chats = journal.inbox
      .pending()
      .map((row) => ({ row, chatId: messages.store.rowByGuid(row.guid)?.chatId ?? 0 }));
    this.#hasResumed = true;
    for (const { row, chatId } of chats) this.#schedule(row, chatId);
  }

  /** Returns the read position. A store that was not read before starts at its newest row: its messages are history. */
  #cursor(): { generation: number; rowid: number } {
    const { messages, journal } = this.#deps;
    const generation = messages.store.generation();
    const known = journal.inbox.cursor(generation);
    if (known !== undefined) return { generation, rowid: known };
    const rowid = messages.store.newestRowid();
    journal.inbox.moveCursor(generation, rowid);
    return { generation, rowid };
  }

  #read(row: StoredRow, generation: number): boolean {
    const { journal, clock, failpoint } = this.#deps;
    const now = clock.now();
    if (this.#isReportable(row) && row.chatId === undefined && this.#mayStillGetChat(row.rowid)) return false;
    const pending: PendingRow = { guid: row.guid, since: now };
    const added = journal.transaction(() => {
      journal.inbox.moveCursor(generation, row.rowid);
      // A known guid can reappear with a new row id after Messages rebuilt or synced its store.
      if (!this.#isWanted(row, now) || !journal.inbox.markSeen(row.guid, now)) return false;
      journal.inbox.addPending(pending);
      return true;
    });
    failpoint('inbound.held');
    if (added) this.#schedule(pending, row.chatId ?? 0);
    return true;
  }

  #isWanted(row: StoredRow, now: number): boolean {
    const { log, settings } = this.#deps;
    if (row.isMessage && !row.fromMe && row.sender === undefined) {
      log.warn(
        { event: 'inbound.skipped_without_sender', guid: row.guid },
        'message without a sender skipped',
      );
    }
    if (!this.#isReportable(row)) return false;
    if (row.chatId === undefined) {
      log.warn({ event: 'inbound.skipped_without_chat', guid: row.guid }, 'message without a chat skipped');
      return false;
    }
    if (row.filtered && !settings.forwardFiltered) {
      log.info({ event: 'inbound.skipped_filtered', guid: row.guid }, 'filtered message skipped');
      return false;
    }
    if (row.sentAt !== undefined && now - row.sentAt > settings.maxAgeMs) {
      log.warn({ event: 'inbound.skipped_too_old', guid: row.guid }, 'old message skipped');
      return false;
    }
    return true;
  }

  #isReportable(row: StoredRow): boolean {
    return isReportable(row, this.#deps.messages.store.ownHandles());
  }

  #mayStillGetChat(rowid: number): boolean {
    const { clock, settings } = this.#deps;
    if (this.#withoutChat?.rowid !== rowid) this.#withoutChat = { rowid, since: clock.monotonic() };
    return clock.monotonic() - this.#withoutChat.since < settings.chatJoinTimeoutMs;
  }

  #schedule(pending: PendingRow, chatId: number): void {
    const { log } = this.#deps;
    void this.#byChat.add(chatId, pending, () =>
      this.#deliverWithRetries(pending).catch((error) =>
        log.error(
          { event: 'inbound.postponed', err: error, guid: pending.guid },
          'inbound message not saved, postponed to the next start',
        ),
      ),
    );
  }

  /** Retries failures such as a full disk. Later messages of the chat wait, to keep their order. */
  async #deliverWithRetries(pending: PendingRow): Promise<void> {
    const { log } = this.#deps;
    for (let attempt = 0; attempt < MAX_RETRIES; attempt += 1) {
      try {
        return await this.#deliver(pending);
      } catch (error) {
        log.error(
          { event: 'inbound.not_saved', err: error, guid: pending.guid, attempt },
          'inbound message not saved, will retry',
        );
        await this.#backoff(attempt);
        if (error instanceof StoreUnavailableError && !this.#stopping.signal.aborted) attempt = 0;
      }
    }
    await this.#deliver(pending);
  }

  async #deliver(pending: PendingRow): Promise<void> {
    const { messages, journal, clock, failpoint, onFrames, log } = this.#deps;
    const row = await this.#whenComplete(pending);
    if (row === undefined) return;
    const chat = row === 'gone' ? undefined : messages.store.chat(row.chatId ?? 0);
    if (row === 'gone' || chat === undefined) {
      // It was not reported. If a rebuilt store brings it back later, it is a new message.
      journal.transaction(() => {
        journal.inbox.removePending(pending.guid);
        journal.inbox.unmarkSeen(pending.guid);
      });
      return;
    }
    const urls = await this.#uploadAll(row);
    if (urls === undefined) return;
    const [file] = row.attachments;
    const duration = row.isVoice && file !== undefined ? messages.audioDuration(file) : undefined;
    const frame = buildReceivedFrame(row, chat, {
      urls,
      durationMs: duration,
      receivedAt: pending.since,
    });
    failpoint('inbound.before');
    journal.durableTransaction(() => {
      journal.outbox.put(frame, clock.now());
      journal.inbox.removePending(pending.guid);
    });
    failpoint('inbound.after');
    log.info(
      {
        event: 'inbound.message_received',
        guid: row.guid,
        chatId: chat.id,
        service: row.service,
        files: urls.length,
        ...(row.bodyState === 'read' ? {} : { body: row.bodyState }),
      },
      'message received',
    );
    onFrames();
  }

  /** Waits until the row is complete. Resolves with undefined when the agent stops first. */
  async #whenComplete(pending: PendingRow): Promise<StoredRow | 'gone' | undefined> {
    const { messages, clock, log } = this.#deps;
    const { signal } = this.#stopping;
    const started = clock.monotonic();
    // The wall clock counts only across a restart: it can be set back while the agent waits.
    const waitedBefore = Math.max(0, clock.now() - pending.since);
    while (!signal.aborted) {
      const row = messages.store.rowByGuid(pending.guid);
      if (row === undefined || !this.#isReportable(row)) return 'gone';
      const left = this.#waitFor(row) - waitedBefore - (clock.monotonic() - started);
      if (left <= 0) {
        if (isIncomplete(row))
          log.warn(
            { event: 'inbound.attachment_timeout', guid: row.guid },
            'attachment not downloaded in time, message sent without it',
          );
        return row;
      }
      await clock.sleep(Math.min(RECHECK_MS, left), signal);
    }
    return undefined;
  }

  /** Returns how long a row waits in all for what Messages has not stored yet. */
  #waitFor(row: StoredRow): number {
    const { attachmentWaitMs, bodyWaitMs, previewWaitMs } = this.#deps.settings;
    return Math.max(
      isIncomplete(row) ? attachmentWaitMs : 0,
      row.bodyState === 'pending' ? bodyWaitMs : 0,
      row.balloon === LINK_PREVIEW ? previewWaitMs : 0,
    );
  }

  /** Returns the URLs of the uploaded files, without those the service rejects. Resolves with undefined when the agent stops. */
  async #uploadAll(row: StoredRow): Promise<string[] | undefined> {
    const { log } = this.#deps;
    const urls: string[] = [];
    for (const { path, name, mime, state } of row.attachments) {
      if (state === 'refused') {
        log.warn(
          { event: 'inbound.attachment_refused', guid: row.guid },
          'attachment is not a file of Messages, message sent without it',
        );
      }
      if (state !== 'ready' || path === undefined) continue;
      const uploaded = await this.#uploadWithRetries({ path, name, mime });
      if (uploaded === undefined) return undefined;
      if (uploaded.ok) urls.push(uploaded.url);
      else
        log.warn(
          { event: 'assets.upload_rejected', guid: row.guid, reason: uploaded.reason },
          'attachment rejected, message sent without it',
        );
    }
    return urls;
  }

  async #uploadWithRetries(file: LocalFile): Promise<UploadResult | undefined> {
    const { uploads, log } = this.#deps;
    const { signal } = this.#stopping;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const uploaded = await uploads.upload(file, signal);
      if (uploaded.ok || uploaded.final) return uploaded;
      log.warn(
        { event: 'assets.upload_failed', reason: uploaded.reason, attempt },
        'attachment upload failed, will retry',
      );
      await this.#backoff(attempt);
    }
    return undefined;
  }

  async #backoff(attempt: number): Promise<void> {
    const { clock, settings } = this.#deps;
    const bound = Math.min(settings.retryCapMs, settings.retryBaseMs * 2 ** Math.min(attempt, 20));
    await clock.sleep(bound / 2 + (Math.random() * bound) / 2, this.#stopping.signal);
  }

  #untilChange(): AbortSignal {
    return AbortSignal.any([this.#changed.signal, this.#stopping.signal]);
  }
}

/** Whether attachments of the row are missing or not downloaded. */
function isIncomplete(row: StoredRow): boolean {
  return row.expectsAttachments || row.attachments.some((file) => file.state === 'waiting');
}
