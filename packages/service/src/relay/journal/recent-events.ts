import { RecentCache } from '../../platform/recent-cache.ts';
import type { JournalEntry, JournalEvent, Recorded, StepName } from './journal.ts';

const MAX_EVENTS = 1000;
const ENTRIES_PER_GENERATION = 2500;

/** The live events of this node: a ring buffer of the last 1,000, and the entries of their messages. */
export class RecentEvents {
  readonly #boot: string;
  /** Without ids, which are built only when an event is read. */
  readonly #ring: Omit<JournalEvent, 'id'>[] = [];
  readonly #entries = new RecentCache<string, JournalEntry>(ENTRIES_PER_GENERATION);
  readonly #listeners = new Set<(event: JournalEvent) => void>();
  #count = 0;

  /** `boot` distinguishes the events of this process from the events of an earlier process. */
  constructor(boot: string) {
    this.#boot = boot;
  }

  addEntry(entry: JournalEntry): void {
    this.#entries.set(entry.id, entry);
  }

  add(at: number, messageId: string, step: StepName, recorded: Recorded): void {
    const message = this.#entries.get(messageId);
    const number = this.#count++;
    this.#ring[number % MAX_EVENTS] = { at, messageId, step, recorded, message };
    if (this.#listeners.size === 0) return;
    const event = { id: this.#idOf(number), at, messageId, step, recorded, message };
    for (const listener of this.#listeners) listener(event);
  }

  /** Returns the events after `lastId`. `gap` is true when some of them are no longer kept. Without `lastId` there are none. */
  since(lastId: string | undefined): { events: JournalEvent[]; gap: boolean } {
    if (lastId === undefined) return { events: [], gap: false };
    const [boot, number = ''] = lastId.split('-');
    const next = Number(number) + 1;
    const oldest = Math.max(0, this.#count - MAX_EVENTS);
    const known = boot === this.#boot && /^\d{1,15}$/.test(number) && next >= oldest && next <= this.#count;
    const events: JournalEvent[] = [];
    for (let index = known ? next : oldest; index < this.#count; index++) {
      const event = this.#ring[index % MAX_EVENTS];
      if (event !== undefined) events.push({ id: this.#idOf(index), ...event });
    }
    return { events, gap: !known };
  }

  #idOf(number: number): string {
    return `${this.#boot}-${number}`;
  }

  /** Calls the listener for every event until the returned function is called. The listener must not throw. */
  listen(listener: (event: JournalEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
