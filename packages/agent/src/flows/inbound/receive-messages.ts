import { setImmediate } from 'node:timers/promises';

import { SerialByKey } from '@footbridge/runtime/serial-by-key';

import type { PendingRow } from '../../journal/journal.ts';
import type { Chat, StoredRow } from '../../ports/messages/messages.ts';
import { inboundName } from '../../suspects/suspects.ts';
import { isCandidate, isMirrorable, isReportable } from './build-received-frame.ts';
import { ChatOrder } from './chat-order.ts';
import { Delivery, RECHECK_MS } from './deliver-message.ts';
import type { KnownRow } from './deliver-message.ts';
import type { ReceiverDeps } from './receiver-deps.ts';
import { recordStoreState } from './store-state.ts';

/** A pending row that is not yet in the queue of a chat. */
interface UnplacedRow {
  readonly pending: PendingRow;
  /** By the monotonic clock. */
  readonly since: number;
}

const BATCH = 100;

/**
 * Puts one frame into the outbox for every new message in the store, in order within its chat. One transaction moves the cursor past rows
 * and makes them pending; another one replaces a pending row by its frame. So a crash neither loses nor duplicates a message. An
 * incomplete message delays only its own chat.
 */
export class Receiver {
  readonly #deps: ReceiverDeps;
  readonly #delivery: Delivery;
  readonly #stopping = new AbortController();
  readonly #byChat = new SerialByKey<PendingRow>();
  readonly #unplaced = new Set<UnplacedRow>();
  #unwatch: () => void = () => {};
  #running: Promise<void> | undefined;
  #changed = new AbortController();
  #problem: string | undefined;

  constructor(deps: ReceiverDeps) {
    this.#deps = deps;
    this.#delivery = new Delivery(deps, this.#stopping.signal);
  }

  start(): void {
    const { messages, journal } = this.#deps;
    // These rows were pending when the agent stopped.
    for (const pending of journal.inbox.pending()) this.#addUnplaced(pending);
    this.#unwatch = messages.watch(() => this.#changed.abort());
    this.#running = this.#run();
  }

  /** Makes a message pending again that was set aside and is now released. The caller opens the transaction. */
  readAgain(guid: string): void {
    const { journal, clock } = this.#deps;
    const pending = { guid, since: clock.now() };
    journal.inbox.addPending(pending);
    this.#addUnplaced(pending);
    this.#changed.abort();
  }

  /** The number of messages that were read but have no frame in the outbox yet. */
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
        await this.#scan();
        if (this.#unplaced.size > 0) wait = RECHECK_MS;
        if (this.#problem !== undefined)
          log.info({ event: 'inbound.store_readable' }, 'message store readable again');
        this.#problem = undefined;
      } catch (error) {
        // Logged once per problem, because a missing permission can last for days.
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

  /** Reads all new rows, and places the rows whose chat is known by now. */
  async #scan(): Promise<void> {
    const { store } = this.#deps.messages;
    while (!this.#stopping.signal.aborted) {
      const { generation, rowid } = this.#cursor();
      const rows = store.rowsAfter(rowid, BATCH);
      this.#read(rows, generation);
      this.#place(rows);
      if (rows.length < BATCH) return;
      // Reading a long history must not block the connection to the service.
      await setImmediate();
    }
  }

  /**
   * Returns the read position. All messages in the first store are history, so reading starts at its newest row. In a store that
   * replaced another one, messages since reading began are new unless they were seen in the earlier store.
   */
  #cursor(): { generation: number; rowid: number } {
    const { messages, journal, clock, settings } = this.#deps;
    const { store } = messages;
    const { inbox } = journal;
    const generation = store.generation();
    const known = inbox.cursor(generation);
    if (known !== undefined) return { generation, rowid: known };
    const now = clock.now();
    const rowid = store.newestRowid();
    const began = inbox.began();
    const recent = began === undefined ? [] : store.guidsSince(Math.max(began.at, now - settings.maxAgeMs));
    const missed = journal.transaction(() => {
      if (began === undefined) inbox.begin({ at: now, generation });
      inbox.moveCursor(generation, rowid);
      return recent.filter((guid) => this.#addPending({ guid, since: now }));
    });
    for (const guid of missed) this.#addUnplaced({ guid, since: now });
    return { generation, rowid };
  }

  #read(rows: readonly StoredRow[], generation: number): void {
    const { journal, clock, failpoint, log } = this.#deps;
    const newest = rows.at(-1);
    if (newest === undefined) return;
    const since = clock.now();
    const mirrors = this.#deps.mirrors();
    const candidates = rows.filter((row) => isCandidate(row, mirrors));
    const recent = candidates.filter((row) => !this.#isHistory(row, generation));
    const added = journal.transaction(() => {
      journal.inbox.moveCursor(generation, newest.rowid);
      return recent.filter(({ guid, fromMe, isEcho }) => this.#addPending({ guid, since }, fromMe || isEcho));
    });
    const count = candidates.length - recent.length;
    if (count > 0) log.warn({ event: 'inbound.skipped_too_old', count }, 'old messages skipped');
    failpoint('inbound.held');
    for (const { guid } of added) this.#addUnplaced({ guid, since });
  }

  /** Returns false for a known guid, which can reappear with a new row id after Messages rebuilt or synced its store. */
  #addPending(pending: PendingRow, own = false): boolean {
    const { inbox } = this.#deps.journal;
    if (!inbox.markSeen(pending.guid, pending.since, own)) return false;
    inbox.addPending(pending);
    return true;
  }

  #addUnplaced(pending: PendingRow): void {
    this.#unplaced.add({ pending, since: this.#deps.clock.monotonic() });
  }

  /** Moves rows into the queues of their chats, oldest first. `fresh` has the rows of the current scan. */
  #place(fresh: readonly StoredRow[]): void {
    const { store } = this.#deps.messages;
    const rows = new Map(fresh.map((row) => [row.guid, row]));
    const order = new ChatOrder();
    for (const unplaced of this.#unplaced) {
      const { guid } = unplaced.pending;
      if (this.#isPlaced(unplaced, rows.get(guid) ?? store.rowByGuid(guid), order))
        this.#unplaced.delete(unplaced);
    }
  }

  #isPlaced({ pending, since }: UnplacedRow, row: StoredRow | undefined, order: ChatOrder): boolean {
    const { store } = this.#deps.messages;
    if (row === undefined && this.#delivery.rebuildWaitMs() > 0) {
      order.holdSender(undefined);
      return false;
    }
    if (row === undefined || !isCandidate(row, this.#deps.mirrors())) {
      this.#delivery.discard(pending);
      return true;
    }
    const chat = row.chatId === undefined ? undefined : store.chat(row.chatId);
    if (row.isNotRead === true) return this.#isSetAside(pending, chat, order);
    if (chat === undefined) return this.#isOrphan(pending, row, since, order);
    if (order.isHeld(chat)) {
      order.holdChat(chat);
      return false;
    }
    if (this.#isWanted(row, chat)) this.#schedule(pending, { row, chat, generation: store.generation() });
    else this.#drop(pending.guid);
    return true;
  }

  /** A suspect delays its chat until it may be read. A message that crashed the agent twice is set aside and reported (I10). */
  #isSetAside(pending: PendingRow, chat: Chat | undefined, order: ChatOrder): boolean {
    const isSetAside = this.#deps.suspects.isSetAside(inboundName(pending.guid));
    if (isSetAside) this.#delivery.setAside(pending, chat);
    else if (chat !== undefined) order.holdChat(chat);
    return isSetAside;
  }

  /** Whether the agent stops waiting for Messages to join a row to a chat. */
  #isOrphan(pending: PendingRow, row: StoredRow, since: number, order: ChatOrder): boolean {
    const { clock, settings, log } = this.#deps;
    const waited = clock.monotonic() - since;
    if (waited < settings.chatJoinTimeoutMs) order.holdSender(row.sender);
    if (waited < settings.orphanMs) return false;
    log.warn({ event: 'inbound.skipped_without_chat', guid: row.guid }, 'message without a chat skipped');
    this.#delivery.discard(pending);
    return true;
  }

  #drop(guid: string): void {
    const { journal, suspects } = this.#deps;
    suspects.acquit(inboundName(guid));
    journal.inbox.removePending(guid);
  }

  #isWanted(row: StoredRow, chat: Chat): boolean {
    const { log, settings, messages, isCanary } = this.#deps;
    if (isCanary(row)) return false;
    if (row.fromMe) return isMirrorable(row, chat, messages.store.ownHandles());
    if (row.sender === undefined) {
      log.warn(
        { event: 'inbound.skipped_without_sender', guid: row.guid },
        'message without a sender skipped',
      );
    }
    if (!isReportable(row, messages.store.ownHandles())) return false;
    if (row.filtered && !settings.forwardFiltered) {
      log.info({ event: 'inbound.skipped_filtered', guid: row.guid }, 'filtered message skipped');
      return false;
    }
    return true;
  }

  /** Whether a sync added the message. A store that replaced another one receives all earlier messages again. */
  #isHistory({ sentAt }: StoredRow, generation: number): boolean {
    const { clock, settings, journal } = this.#deps;
    if (sentAt === undefined) return false;
    if (clock.now() - sentAt > settings.maxAgeMs) return true;
    const began = journal.inbox.began();
    return began !== undefined && began.generation !== generation && sentAt < began.at;
  }

  /** Queues by the key of the chat, which is the same in a rebuilt store: the order is kept across generations. */
  #schedule(pending: PendingRow, known: KnownRow): void {
    void this.#byChat.add(known.chat.key, pending, () => this.#delivery.deliver(pending, known));
  }

  #untilChange(): AbortSignal {
    return AbortSignal.any([this.#changed.signal, this.#stopping.signal]);
  }
}
