import { errorCode } from '@footbridge/runtime/error-code';
import type { PendingRow } from '../../journal/journal.ts';
import type { Chat, LocalFile, StoredRow } from '../../ports/messages/messages.ts';
import { LINK_PREVIEW, StoreUnavailableError } from '../../ports/messages/messages.ts';
import { setAsideFrame } from '../../suspects/set-aside-frame.ts';
import { inboundName } from '../../suspects/suspects.ts';
import { buildReceivedFrame, isMirrorable, isReportable } from './build-received-frame.ts';
import { isTypedByOwner } from './is-typed-by-owner.ts';
import type { ReceiverDeps, UploadResult } from './receiver-deps.ts';

/** The last reading of a row, with its chat and the generation of its store. */
export interface KnownRow {
  readonly row: StoredRow;
  readonly chat: Chat;
  readonly generation: number;
}

/** The interval at which an incomplete row is read again. */
export const RECHECK_MS = 100;
/** How long messages wait for a rebuilt store to contain them again. */
const REBUILD_WAIT_MS = 10_000;
const MAX_RETRIES = 20;

/** Turns a pending row into a frame in the outbox, once the row is complete and its files are uploaded. */
export class Delivery {
  readonly #deps: ReceiverDeps;
  readonly #signal: AbortSignal;
  /** The generation of the current store, and when it was first seen. */
  #current: { readonly generation: number; readonly since: number } | undefined;

  constructor(deps: ReceiverDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
  }

  /** Drops a row that is not reported. If it reappears in a rebuilt store, it counts as a new message. */
  discard({ guid }: PendingRow): void {
    const { journal, suspects } = this.#deps;
    suspects.acquit(inboundName(guid));
    journal.transaction(() => {
      journal.inbox.removePending(guid);
      journal.inbox.unmarkSeen(guid);
    });
  }

  /** Reports a message that crashed the agent twice, without its content. The operator can have the message read again (I10). */
  setAside({ guid }: PendingRow, chat: Chat | undefined): void {
    const { journal, clock, log, onFrames } = this.#deps;
    journal.durableTransaction(() => {
      journal.outbox.put(setAsideFrame(guid, chat, clock.now()), clock.now());
      journal.inbox.removePending(guid);
    });
    log.error({ event: 'inbound.set_aside', guid }, 'message crashed the agent twice, set aside');
    onFrames();
  }

  /** Returns how long a missing message may still reappear: Messages fills a rebuilt store bit by bit. */
  rebuildWaitMs(): number {
    const { messages, clock } = this.#deps;
    const generation = messages.store.generation();
    if (this.#current?.generation !== generation) this.#current = { generation, since: clock.monotonic() };
    return this.#current.since + REBUILD_WAIT_MS - clock.monotonic();
  }

  /**
   * Retries failures of the store and of the journal, such as a full disk, until they end. Later messages of the chat wait, which keeps
   * their order. Any other failure could block the chat for ever, so after some retries the row waits for the next start. Never rejects.
   */
  async deliver(pending: PendingRow, known: KnownRow): Promise<void> {
    const { log } = this.#deps;
    for (let attempt = 0; !this.#signal.aborted; attempt += 1) {
      try {
        return await this.#deliverOnce(pending, known);
      } catch (error) {
        const fields = { err: error, guid: pending.guid, attempt };
        if (attempt >= MAX_RETRIES && !isStorageError(error)) {
          log.error(
            { event: 'inbound.postponed', ...fields },
            'inbound message not saved, postponed to the next start',
          );
          return;
        }
        log.error({ event: 'inbound.not_saved', ...fields }, 'inbound message not saved, will retry');
        await this.#backoff(attempt);
      }
    }
  }

  async #deliverOnce(pending: PendingRow, known: KnownRow): Promise<void> {
    const { messages, journal, suspects, clock, failpoint, onFrames, log } = this.#deps;
    const complete = await this.#whenComplete(pending, known);
    if (complete === undefined) return;
    if (complete === 'gone') {
      this.discard(pending);
      return;
    }
    const { row, chat } = complete;
    if (row.fromMe) {
      const isOwners = await isTypedByOwner(row, this.#deps, this.#signal);
      if (isOwners === undefined) return;
      if (!isOwners) {
        journal.inbox.removePending(pending.guid);
        return;
      }
    }
    const urls = await this.#uploadAll(row);
    if (urls === undefined) return;
    failpoint('inbound.before');
    suspects.during(inboundName(pending.guid), () => {
      const [file] = row.attachments;
      const duration = row.isVoice && file !== undefined ? messages.audioDuration(file) : undefined;
      const frame = buildReceivedFrame(row, chat, {
        urls,
        durationMs: duration,
        receivedAt: pending.since,
      });
      journal.durableTransaction(() => {
        journal.outbox.put(frame, clock.now());
        journal.inbox.removePending(pending.guid);
      });
    });
    failpoint('inbound.after');
    log.info(
      {
        event: 'inbound.message_received',
        guid: row.guid,
        chatId: chat.id,
        service: row.service,
        files: urls.length,
        ...(row.fromMe && { fromMe: true }),
        ...(row.bodyState === 'read' ? {} : { body: row.bodyState }),
      },
      'message received',
    );
    onFrames();
  }

  /** Waits until the row is complete. Resolves with undefined when the agent stops first. */
  async #whenComplete(pending: PendingRow, first: KnownRow): Promise<KnownRow | 'gone' | undefined> {
    const { messages, clock, log } = this.#deps;
    const { store } = messages;
    const started = clock.monotonic();
    let known = first;
    while (!this.#signal.aborted) {
      const row = store.rowByGuid(pending.guid);
      if (row === undefined ? known.generation === store.generation() : !this.#isReportable(row, known.chat))
        return 'gone';
      if (row !== undefined) {
        const chat = row.chatId === undefined ? undefined : store.chat(row.chatId);
        known = { row, chat: chat ?? known.chat, generation: store.generation() };
      }
      const left =
        row === undefined ? this.rebuildWaitMs() : this.#waitFor(row) - (clock.monotonic() - started);
      if (left <= 0) {
        if (isIncomplete(known.row))
          log.warn(
            { event: 'inbound.attachment_timeout', guid: known.row.guid },
            'attachment not downloaded in time, message sent without it',
          );
        return known;
      }
      await clock.sleep(Math.min(RECHECK_MS, left), this.#signal);
    }
    return undefined;
  }

  #isReportable(row: StoredRow, chat: Chat): boolean {
    const { messages, isCanary } = this.#deps;
    if (isCanary(row)) return false;
    const own = messages.store.ownHandles();
    return row.fromMe ? isMirrorable(row, chat, own) : isReportable(row, own);
  }

  /** Returns how long a row may wait in total for what Messages has not stored yet. */
  #waitFor(row: StoredRow): number {
    const { attachmentWaitMs, bodyWaitMs, previewWaitMs } = this.#deps.settings;
    return Math.max(
      isIncomplete(row) ? attachmentWaitMs : 0,
      row.bodyState === 'pending' ? bodyWaitMs : 0,
      row.balloon === LINK_PREVIEW ? previewWaitMs : 0,
    );
  }

  /** Resolves with the URLs of the uploaded files, without rejected ones, or with undefined when the agent stops. */
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
    for (let attempt = 0; !this.#signal.aborted; attempt += 1) {
      const uploaded = await uploads.upload(file, this.#signal);
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
    await clock.sleep(bound / 2 + (Math.random() * bound) / 2, this.#signal);
  }
}

/** Whether attachments of the row are missing or not downloaded. */
function isIncomplete(row: StoredRow): boolean {
  return row.expectsAttachments || row.attachments.some((file) => file.state === 'waiting');
}

/** Whether the message store or the disk caused the error. Such an error can last for hours, but it ends. */
function isStorageError(error: unknown): boolean {
  if (error instanceof StoreUnavailableError) return true;
  if (!(error instanceof Error)) return false;
  return errorCode(error) === 'ERR_SQLITE_ERROR' || isStorageError(error.cause);
}
