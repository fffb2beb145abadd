import type { JournalEntry, JournalEvent, JournalFeed, Recorded, StepName } from './journal.ts';

const EVENTS_KEPT = 1000;
const ENTRIES_KEPT = 2500;

/** The live feed: a ring of the latest events, and who the messages in them are. */
export class RecentEvents implements JournalFeed {
  readonly #boot: string;
  /** Without their ids, which nobody needs as long as nobody looks. */
  readonly #ring: Omit<JournalEvent, 'id'>[] = [];
  // Two generations: forgetting one by one costs a Map more than everything else here.
  #entries = new Map<string, JournalEntry>();
  #olderEntries = new Map<string, JournalEntry>();
  readonly #listeners = new Set<(event: JournalEvent) => void>();
  #count = 0;

  /** `boot` tells the events of this run from those of an earlier one. */
  constructor(boot: string) {
    this.#boot = boot;
  }

  introduce(entry: JournalEntry): void {
    this.#entries.set(entry.id, entry);
    if (this.#entries.size < ENTRIES_KEPT) return;
    this.#olderEntries = this.#entries;
    this.#entries = new Map();
  }

  add(at: number, messageId: string, step: StepName, recorded: Recorded): void {
    const message = this.#entries.get(messageId) ?? this.#olderEntries.get(messageId);
    const number = this.#count++;
    this.#ring[number % EVENTS_KEPT] = { at, messageId, step, recorded, message };
    if (this.#listeners.size === 0) return;
    const event = { id: this.#idOf(number), at, messageId, step, recorded, message };
    for (const listener of this.#listeners) listener(event);
  }

  since(lastId: string | undefined): { events: JournalEvent[]; gap: boolean } {
    if (lastId === undefined) return { events: [], gap: false };
    const [boot, number = ''] = lastId.split('-');
    const next = Number(number) + 1;
    const oldest = Math.max(0, this.#count - EVENTS_KEPT);
    const known = boot === this.#boot && /^\d{1,15}$/.test(number) && next >= oldest && next <= this.#count;
    const events: JournalEvent[] = [];
    for (let index = known ? next : oldest; index < this.#count; index++) {
      const event = this.#ring[index % EVENTS_KEPT];
      if (event !== undefined) events.push({ id: this.#idOf(index), ...event });
    }
    return { events, gap: !known };
  }

  #idOf(number: number): string {
    return `${this.#boot}-${number}`;
  }

  listen(listener: (event: JournalEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
