import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';
import { SerialByKey } from '@footbridge/runtime/serial-by-key';
import type { WorkMark } from '@footbridge/runtime/work-mark';

import { EngineError } from '../errors.ts';
import type { Database } from '../sql/open-database.ts';
import { SET_ASIDE } from './suspects.ts';
import type { MessageName, SetAside, Suspects } from './suspects.ts';

export interface SqlSuspectsDeps {
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

/**
 * Counts what the former process of this node worked on when it died. When it cannot, it rejects with EngineError and leaves that to the
 * next start. `close` ends the waits of suspects.
 */
export async function openSqlSuspects(deps: SqlSuspectsDeps): Promise<Suspects & { close(): void }> {
  const suspects = new CountedSuspects(deps);
  await suspects.open();
  return suspects;
}

class CountedSuspects implements Suspects {
  readonly #deps: SqlSuspectsDeps;
  readonly #startedAt: number;
  readonly #alone = new SerialByKey<string>();
  /** The number of processes that each message ended. Nearly always empty. */
  #deaths: ReadonlyMap<string, number> = new Map();
  readonly #closing = new AbortController();
  #unlisten = () => {};

  constructor(deps: SqlSuspectsDeps) {
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
    this.#unlisten = onAnnounced(() => void this.#reload());
  }

  close(): void {
    this.#unlisten();
    this.#closing.abort();
  }

  workOn(message: MessageName): void {
    this.#deps.mark.name(keyOf(message));
  }

  // Not async: nearly every message takes the first way.
  handle<T>(message: MessageName, work: () => Promise<T>): Promise<T | typeof SET_ASIDE> {
    const key = keyOf(message);
    if (this.#deaths.has(key)) return this.#handleSuspect(message, key, work);
    this.#deps.mark.name(key);
    return work();
  }

  async setAside(message: MessageName): Promise<void> {
    await this.#add(message, MAX_DEATHS);
    this.#deps.count(message.kind);
    await this.#load();
  }

  async release(message: MessageName): Promise<boolean> {
    const { db, announce } = this.#deps;
    const released = await guarded(() =>
      db
        .deleteFrom('suspects')
        .where('kind', '=', message.kind)
        .where('location_id', '=', message.locationId)
        .where('message_id', '=', message.id)
        .returning('deaths')
        .executeTakeFirst(),
    );
    if (released === undefined) return false;
    await this.#load();
    await announce();
    return released.deaths >= MAX_DEATHS;
  }

  list(): Promise<SetAside[]> {
    return guarded(async () => {
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

  async prune(before: number): Promise<void> {
    await guarded(() => this.#deps.db.deleteFrom('suspects').where('at', '<', before).execute());
    await this.#load();
  }

  async #handleSuspect<T>(
    message: MessageName,
    key: string,
    work: () => Promise<T>,
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
      await this.#acquit(message);
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
  #add({ kind, locationId, id }: MessageName, deaths: number): Promise<number> {
    const { db, clock, announce } = this.#deps;
    return guarded(async () => {
      const row = await db
        .insertInto('suspects')
        .values({ kind, location_id: locationId, message_id: id, deaths, at: clock.now() })
        .onConflict((conflict) =>
          conflict
            .columns(['kind', 'location_id', 'message_id'])
            .doUpdateSet((old) => ({ deaths: old('suspects.deaths', '+', deaths), at: clock.now() })),
        )
        .returning('deaths')
        .executeTakeFirstOrThrow();
      await announce();
      return row.deaths;
    });
  }

  async #load(): Promise<void> {
    const rows = await guarded(() => this.#deps.db.selectFrom('suspects').selectAll().execute());
    this.#deaths = new Map(
      rows.map((row) => [
        keyOf({ kind: row.kind, locationId: row.location_id, id: row.message_id }),
        row.deaths,
      ]),
    );
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

async function guarded<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    if (error instanceof EngineError) throw error;
    throw new EngineError('sql', 'suspect messages cannot be read or changed', error);
  }
}
