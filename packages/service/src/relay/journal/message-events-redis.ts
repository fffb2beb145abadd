import type { Clock } from '@footbridge/runtime/clock';

import { loadScript } from '../../platform/redis/open-redis.ts';
import type { Redis } from '../../platform/redis/open-redis.ts';
import type { JournalEvent } from './journal.ts';
import type { MessageEvents } from './message-events.ts';
import type { RecentEvents } from './recent-events.ts';

export interface RedisMessageEventsDeps {
  readonly redis: Pick<Redis, 'run'>;
  /** The events of this node. */
  readonly local: Pick<RecentEvents, 'listen'>;
  readonly cipher: { seal(batch: EventBatch): Buffer; open(sealed: Buffer): EventBatch | undefined };
  readonly clock: Pick<Clock, 'after'>;
}

/** Some events of one node, in order. */
export interface EventBatch {
  /** Events before these were lost. */
  readonly gap?: boolean;
  readonly events: readonly Omit<JournalEvent, 'id'>[];
}

type Listener = (event: JournalEvent | 'gap') => void;

interface Follower {
  readonly listener: Listener;
  /** The last entry that the follower has. Undefined: it starts with the next entry, after a gap. */
  after: string | undefined;
}

const APPEND = loadScript(new URL('scripts/append-events.lua', import.meta.url));
const READ = loadScript(new URL('scripts/read-events.lua', import.meta.url));
const STREAM = 'events';
const EXPIRY_MS = 3_600_000;
/** With 50 events each, about 8 MB at most. */
const MAX_ENTRIES = 400;
const EVENTS_PER_ENTRY = 50;
const MAX_UNSENT = 1000;
const APPEND_MS = 100;
const READ_MS = 250;
const RETRY_MS = 1000;
const ENTRIES_PER_READ = 20;
/** The newest id of an empty stream. */
const NOTHING_YET = '0-0';

/** Several nodes: each appends its events to one bounded stream in Redis, in encrypted batches, and reads that stream while it has followers. */
export function createRedisMessageEvents(deps: RedisMessageEventsDeps): MessageEvents {
  return new RedisMessageEvents(deps);
}

class RedisMessageEvents implements MessageEvents {
  readonly #redis: RedisMessageEventsDeps['redis'];
  readonly #cipher: RedisMessageEventsDeps['cipher'];
  readonly #clock: RedisMessageEventsDeps['clock'];
  readonly #stopListening: () => void;
  readonly #followers = new Set<Follower>();
  #unsent: EventBatch['events'][number][] = [];
  #lostSome = false;
  #cancelAppend: (() => void) | undefined;
  #cancelRead: (() => void) | undefined;
  #appending: Promise<void> = Promise.resolve();
  #isReading = false;
  #isClosed = false;

  constructor({ redis, local, cipher, clock }: RedisMessageEventsDeps) {
    this.#redis = redis;
    this.#cipher = cipher;
    this.#clock = clock;
    this.#stopListening = local.listen((event) => this.#add(event));
  }

  #add({ at, messageId, step, recorded: { state, code, detail }, message }: JournalEvent): void {
    const recorded = {
      ...(state !== undefined && { state }),
      ...(code !== undefined && { code }),
      ...(detail !== undefined && { detail }),
    };
    this.#unsent.push({ at, messageId, step, recorded, message });
    if (this.#unsent.length > MAX_UNSENT) {
      this.#unsent.splice(0, this.#unsent.length - MAX_UNSENT);
      this.#lostSome = true;
    }
    this.#appendAfter(APPEND_MS);
  }

  #appendAfter(ms: number): void {
    if (this.#isClosed) return;
    this.#cancelAppend ??= this.#clock.after(ms, () => {
      this.#appending = this.#append();
    });
  }

  async #append(): Promise<void> {
    const events = this.#unsent;
    const gap = this.#lostSome;
    this.#unsent = [];
    this.#lostSome = false;
    try {
      const entries: string[] = [];
      for (let from = 0; from < events.length; from += EVENTS_PER_ENTRY) {
        const batch = {
          events: events.slice(from, from + EVENTS_PER_ENTRY),
          ...(gap && from === 0 && { gap }),
        };
        entries.push(this.#cipher.seal(batch).toString('base64'));
      }
      await this.#redis.run(APPEND, [STREAM], [String(MAX_ENTRIES), String(EXPIRY_MS), ...entries]);
      this.#cancelAppend = undefined;
      if (this.#unsent.length > 0) this.#appendAfter(APPEND_MS);
    } catch {
      // A script that timed out may have run: a repeated event is harmless, a lost one is not.
      const kept = [...events, ...this.#unsent];
      this.#lostSome ||= gap || kept.length > MAX_UNSENT;
      this.#unsent = kept.slice(-MAX_UNSENT);
      this.#cancelAppend = undefined;
      this.#appendAfter(RETRY_MS);
    }
  }

  async follow(lastId: string | undefined, listener: Listener): Promise<() => void> {
    const follower: Follower = { listener, after: undefined };
    try {
      follower.after = await this.#catchUp(lastId, listener);
    } catch {
      // Redis is down: the first read that succeeds reports a gap.
    }
    this.#followers.add(follower);
    this.#readAfter(READ_MS);
    return () => this.#followers.delete(follower);
  }

  /** Resolves with the id of the last entry whose events the listener has. */
  async #catchUp(lastId: string | undefined, listener: Listener): Promise<string> {
    const [, entry, index] = /^(\d{1,15}-\d{1,9})\.(\d{1,3})$/.exec(lastId ?? '') ?? [];
    if (entry === undefined || index === undefined) {
      if (lastId !== undefined) listener('gap');
      return (await this.#read('$')).newest;
    }
    const { newest, kept, entries } = await this.#read(entry, MAX_ENTRIES);
    if (kept === undefined) {
      listener('gap');
      return newest;
    }
    deliver(this.#open(kept), listener, Number(index) + 1);
    for (const later of entries) deliver(this.#open(later), listener);
    return entries.at(-1)?.id ?? entry;
  }

  #readAfter(ms: number): void {
    if (this.#isClosed || this.#isReading || this.#followers.size === 0) return;
    this.#cancelRead ??= this.#clock.after(ms, () => {
      this.#cancelRead = undefined;
      this.#isReading = true;
      void this.#readOn()
        .then(
          (isBehind) => (isBehind ? 0 : READ_MS),
          () => RETRY_MS,
        )
        .then((nextMs) => {
          this.#isReading = false;
          this.#readAfter(nextMs);
        });
    });
  }

  /** Delivers the next entries to all followers. Resolves with whether there may be more. */
  async #readOn(): Promise<boolean> {
    const followers = [...this.#followers];
    const from = followers.reduce<string | undefined>(
      (least, { after }) =>
        least === undefined || (after !== undefined && isBefore(after, least)) ? after : least,
      undefined,
    );
    const { newest, kept, entries } = await this.#read(from ?? '$');
    const isTrimmed = from !== undefined && from !== NOTHING_YET && kept === undefined;
    const position = entries.at(-1)?.id ?? newest;
    const opened = entries.map((entry) => this.#open(entry));
    for (const follower of followers) {
      const { after, listener } = follower;
      if (!this.#followers.has(follower)) continue;
      if (after === undefined || isTrimmed) listener('gap');
      for (const batch of opened)
        if (after !== undefined && isBefore(after, batch.id)) deliver(batch, listener);
      if (after === undefined || isTrimmed || isBefore(after, position)) follower.after = position;
    }
    return entries.length === ENTRIES_PER_READ;
  }

  /** Decrypts an entry. Called once per entry, not once per follower. */
  #open({ id, sealed }: Entry): Opened {
    const batch = this.#cipher.open(Buffer.from(sealed, 'base64'));
    if (batch === undefined) return { id, gap: 'whole', events: [] };
    const events = batch.events.map((event, index) => ({ ...event, id: `${id}.${index}` }));
    return { id, gap: batch.gap === true ? 'before' : undefined, events };
  }

  async #read(after: string, count = ENTRIES_PER_READ): Promise<Read> {
    const response = await this.#redis.run(READ, [STREAM], [after, String(count)]);
    const [newest, kept, entries] = response as [string, RawEntry[], RawEntry[]];
    return { newest, kept: kept.map(entryOf)[0], entries: entries.map(entryOf) };
  }

  async close(): Promise<void> {
    this.#stopListening();
    this.#cancelRead?.();
    this.#cancelAppend?.();
    this.#isClosed = true;
    this.#followers.clear();
    await this.#appending;
    if (this.#unsent.length > 0) await this.#append();
  }
}

interface Entry {
  readonly id: string;
  readonly sealed: string;
}

type RawEntry = [id: string, fields: [name: string, sealed: string]];

interface Opened {
  readonly id: string;
  /** `whole`: the entry cannot be read. `before`: events before it were lost. */
  readonly gap: 'whole' | 'before' | undefined;
  readonly events: readonly JournalEvent[];
}

function deliver({ gap, events }: Opened, listener: Listener, fromIndex = 0): void {
  if (gap === 'whole' || (gap === 'before' && fromIndex === 0)) listener('gap');
  for (const event of events.slice(fromIndex)) listener(event);
}

const entryOf = ([id, [, sealed]]: RawEntry): Entry => ({ id, sealed });

interface Read {
  readonly newest: string;
  /** The entry after which was read. */
  readonly kept: Entry | undefined;
  readonly entries: readonly Entry[];
}

const partsOf = (id: string): [ms: number, seq: number] => {
  const [ms = 0, seq = 0] = id.split('-').map(Number);
  return [ms, seq];
};

function isBefore(one: string, other: string): boolean {
  const [ms, seq] = partsOf(one);
  const [otherMs, otherSeq] = partsOf(other);
  return ms < otherMs || (ms === otherMs && seq < otherSeq);
}
