import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';
import { SerialByKey } from '@footbridge/runtime/serial-by-key';
import type { WorkMark } from '@footbridge/runtime/work-mark';

import { guarded } from '../sql/queries.ts';
import type { Database } from '../sql/open-database.ts';
import { SET_ASIDE } from './suspects.ts';
import type { MessageName, SetAside } from './suspects.ts';

export interface SuspectsDeps {
  readonly db: Database;
  readonly mark: WorkMark;
  /** Tells the other nodes, and this one. */
  readonly announce: () => Promise<void>;
  /** Calls the listener after each announcement of any node, until the returned function is called. */
  readonly onAnnounced: (listener: () => void) => () => void;
  readonly clock: Clock;
  readonly log: Log;
  /** Called for each message that was not handled. */
  readonly count: (kind: MessageName['kind']) => void;
}

const MAX_DEATHS = 2;
/** How long a process runs before it handles suspects. */
const FIRST_OTHERS_MS = 10_000;
/** A suspect that takes longer waits for something: the next one may be handled. */
const ALONE_MS = 5000;
/** Changes are read at most once in this time, however many there are. */
const READ_EVERY_MS = 200;
/** Messages of one location that are set aside by its Mac. With more, the oldest are forgotten. */
const MAX_OF_LOCATION = 500;

const queried = guarded('suspect messages cannot be read or changed');

/**
 * Counts what the former process of this node worked on when it died. When it cannot, it rejects with EngineError and leaves that to the
 * next start.
 */
export async function openSuspects(deps: SuspectsDeps): Promise<Suspects> {
  const suspects = new Suspects(deps);
  await suspects.open();
  return suspects;
}

/**
 * Finds the message that ends the service, and sets it aside when it did so twice (I10).
 *
 * What this process works on is named in a file. When the process dies, the next start of this node counts that for the message, and all
 * nodes know it within two seconds. Waiting is not work: a process that is killed while a message waits for the CRM says nothing about it.
 */
export class Suspects {
  readonly #deps: SuspectsDeps;
  readonly #startedAt: number;
  readonly #alone = new SerialByKey<string>();
  /** The number of processes that each message ended. Nearly always empty. */
  #deaths = new Map<string, number>();
  #isReading = false;
  #isOutdated = false;
  readonly #closing = new AbortController();
  #unlisten = () => {};

  constructor(deps: SuspectsDeps) {
    this.#deps = deps;
    this.#startedAt = deps.clock.monotonic();
  }

  async open(): Promise<void> {
    const { mark, onAnnounced, log } = this.#deps;
    try {
      const ended = mark.left === undefined ? undefined : nameOf(mark.left);
      if (ended !== undefined) {
        const deaths = await this.#add(ended, 1);
        log.warn(
          { event: 'message.ended_process', ...ended, deaths, isSetAside: deaths >= MAX_DEATHS },
          'the former process ended while it worked on this message',
        );
      }
      await this.#load();
    } catch (error) {
      mark.giveBack();
      throw error;
    }
    this.#unlisten = onAnnounced(() => void this.#follow());
  }

  /** Ends the waits of suspects. */
  close(): void {
    this.#unlisten();
    this.#closing.abort();
  }

  /** Names the message again after a wait within `handle`. */
  workOn(message: MessageName): void {
    this.#deps.mark.name(keyOf(message));
  }

  /**
   * Runs the work for a message at once. One that ended a process is a suspect: it waits until this process has run for a while, so that
   * the others go first, and suspects are handled one at a time. Nothing is held against it any more after an outcome that `isHandled`;
   * after another one, such as no Mac, it has not been through all of the work. One that ended two processes is not handled: the call
   * resolves with `set_aside`. While the database is unavailable, this node goes by what it knows.
   */
  handle<T>(
    message: MessageName,
    work: () => Promise<T>,
    isHandled: (outcome: T) => boolean,
  ): Promise<T | typeof SET_ASIDE> {
    const key = keyOf(message);
    if (this.#deaths.has(key)) return this.#handleSuspect(message, key, work, isHandled);
    // Not in an async function: nearly every message comes here.
    this.#deps.mark.name(key);
    return work();
  }

  /** Sets a message aside that ended an agent twice. */
  async setAside(message: MessageName): Promise<void> {
    const key = keyOf(message);
    if ((this.#deaths.get(key) ?? 0) >= MAX_DEATHS) return;
    this.#deaths.set(key, await this.#add(message, MAX_DEATHS));
    this.#deps.count(message.kind);
    await this.#bound(message.locationId);
  }

  /** Lets a message be handled when it comes again. Resolves with false when it was not set aside. */
  async release(message: MessageName): Promise<boolean> {
    const { db, announce } = this.#deps;
    const released = await queried(() =>
      db
        .deleteFrom('suspects')
        .where('kind', '=', message.kind)
        .where('location_id', '=', message.locationId)
        .where('message_id', '=', message.id)
        .returning('deaths')
        .executeTakeFirst(),
    );
    if (released === undefined) return false;
    this.#deaths.delete(keyOf(message));
    await announce();
    return released.deaths >= MAX_DEATHS;
  }

  /** Resolves with the messages that are set aside, the newest first. */
  list(): Promise<SetAside[]> {
    return queried(async () => {
      const rows = await this.#deps.db
        .selectFrom('suspects')
        .selectAll()
        .where('deaths', '>=', MAX_DEATHS)
        .orderBy('at', 'desc')
        .execute();
      return rows.map((row) => ({
        kind: row.kind,
        locationId: row.location_id,
        id: row.message_id,
        at: row.at,
      }));
    });
  }

  /** Forgets messages that ended no process since then. */
  async prune(before: number): Promise<void> {
    await queried(() => this.#deps.db.deleteFrom('suspects').where('at', '<', before).execute());
    await this.#load();
  }

  async #handleSuspect<T>(
    message: MessageName,
    key: string,
    work: () => Promise<T>,
    isHandled: (outcome: T) => boolean,
  ): Promise<T | typeof SET_ASIDE> {
    const { clock, mark, count } = this.#deps;
    const { signal } = this.#closing;
    const turn = Promise.withResolvers<void>();
    const done = Promise.withResolvers<unknown>();
    void this.#alone.add('', key, async () => {
      const waitMs = this.#startedAt + FIRST_OTHERS_MS - clock.monotonic();
      if (waitMs > 0) await clock.sleep(waitMs, signal);
      turn.resolve();
      await Promise.race([done.promise, clock.sleep(ALONE_MS, signal)]);
    });
    try {
      await this.#reload();
      if ((this.#deaths.get(key) ?? 0) < MAX_DEATHS) await turn.promise;
      // It may have ended another node meanwhile, or have been released.
      await this.#reload();
      if ((this.#deaths.get(key) ?? 0) >= MAX_DEATHS) {
        count(message.kind);
        return SET_ASIDE;
      }
      const outcome = await mark.during(key, work);
      if (isHandled(outcome)) await this.#acquit(message);
      return outcome;
    } finally {
      done.resolve(undefined);
    }
  }

  async #acquit(message: MessageName): Promise<void> {
    try {
      await this.release(message);
    } catch (error) {
      this.#deps.log.warn({ event: 'message.not_acquitted', err: error }, 'handled suspect not forgotten');
    }
  }

  /** Resolves with the number of processes that the message ended. */
  async #add({ kind, locationId, id }: MessageName, deaths: number): Promise<number> {
    const { db, clock, announce } = this.#deps;
    const row = await queried(() =>
      db
        .insertInto('suspects')
        .values({ kind, location_id: locationId, message_id: id, deaths, at: clock.now() })
        .onConflict((conflict) =>
          conflict
            .columns(['kind', 'location_id', 'message_id'])
            .doUpdateSet((old) => ({ deaths: old('suspects.deaths', '+', deaths), at: clock.now() })),
        )
        .returning('deaths')
        .executeTakeFirstOrThrow(),
    );
    await announce();
    return row.deaths;
  }

  async #load(): Promise<void> {
    const rows = await queried(() => this.#deps.db.selectFrom('suspects').selectAll().execute());
    this.#deaths = new Map(
      rows.map((row) => [
        keyOf({ kind: row.kind, locationId: row.location_id, id: row.message_id }),
        row.deaths,
      ]),
    );
  }

  /** Forgets the oldest messages of a location with too many. */
  async #bound(locationId: string): Promise<void> {
    const { db } = this.#deps;
    await queried(async () => {
      const oldest = await db
        .selectFrom('suspects')
        .select('at')
        .where('location_id', '=', locationId)
        .orderBy('at', 'desc')
        .offset(MAX_OF_LOCATION)
        .limit(1)
        .executeTakeFirst();
      if (oldest !== undefined)
        await db
          .deleteFrom('suspects')
          .where('location_id', '=', locationId)
          .where('at', '<=', oldest.at)
          .execute();
    });
  }

  /** Reads what any node has changed, one read at a time. */
  async #follow(): Promise<void> {
    this.#isOutdated = true;
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#isOutdated && !this.#closing.signal.aborted) {
      this.#isOutdated = false;
      await this.#reload();
      await this.#deps.clock.sleep(READ_EVERY_MS, this.#closing.signal);
    }
    this.#isReading = false;
  }

  /** Never rejects: while the database is unavailable, this node goes by what it knows. */
  async #reload(): Promise<void> {
    await this.#load().catch((error: unknown) =>
      this.#deps.log.warn({ event: 'message.suspects_not_read', err: error }, 'suspects not read'),
    );
  }
}

/** The length makes it unambiguous: ids may contain spaces. */
const keyOf = ({ kind, locationId, id }: MessageName) => `${kind} ${locationId.length} ${locationId}${id}`;

const KEY = /^(outbound|inbound|file) (\d+) /;

/** Returns undefined for a damaged key. */
function nameOf(key: string): MessageName | undefined {
  const [head = '', kind, length] = KEY.exec(key) ?? [];
  if (kind !== 'outbound' && kind !== 'inbound' && kind !== 'file') return undefined;
  const end = head.length + Number(length);
  const [locationId, id] = [key.slice(head.length, end), key.slice(end)];
  return locationId === '' || id === '' ? undefined : { kind, locationId, id };
}
