import { every, sleep } from '../../clock.ts';
import type { Clock } from '../../clock.ts';
import type { Logger } from '../../log.ts';
import type { Changes } from '../../ports/changes/changes.ts';
import type { Licenses, Standing } from '../../ports/licenses/licenses.ts';
import { hashSecret, isDeviceToken, sameHash } from '../../ports/licenses/secret-hash.ts';
import { AT_ONCE, Batcher, nextTurn } from './batcher.ts';

/** `suspended`: the license is. `gone`: device or license are no longer active. `replaced`: the device was activated again. */
export type Repute = 'good' | 'suspended' | 'gone' | 'replaced';

/**
 * A device that showed its token: one object per token, shared by everybody on this node who deals with it.
 * `repute` starts good or bad and only ever turns bad; whoever holds the bearer sees it turn.
 */
export interface Bearer {
  readonly tokenHash: string;
  readonly deviceRow: string;
  readonly deviceId: string;
  readonly licenseId: string;
  /** As the Mac told last. */
  osVersion: string;
  appVersion: string;
  readonly repute: Repute;
}

interface Known extends Bearer {
  repute: Repute;
  /** Open sockets; while there are any, the bearer is remembered. */
  holders: number;
  idleSince: number;
  /** Counts the news that concern it and were not looked into yet. */
  doubts: number;
}

export interface RecognitionDeps {
  readonly licenses: Pick<Licenses, 'standingsByToken' | 'standingsByRow'>;
  readonly changes: Pick<Changes, 'listen'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long a Mac that went away is remembered, so that a storm of reconnects asks the database for nothing. */
const IDLE_MS = 600_000;
/** Everybody is looked at once in this time: news die with the node that had them to tell. */
const ROUND_SEC = 300;
const RETRY_MS = 1000;

/** Who a token belongs to: answered from memory, kept true by the `changes` port. */
export class Recognition {
  readonly #licenses: RecognitionDeps['licenses'];
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Only tokens of good repute are remembered, so nobody can fill this with made-up ones. */
  readonly #known = new Map<string, Known>();
  readonly #tokens: Batcher<string, Standing>;
  readonly #rows: Batcher<string, Standing>;
  readonly #doubted = new Set<Known>();
  readonly #listeners = new Set<() => void>();
  readonly #undo: (() => void)[];
  #round: Iterator<Known> | undefined;
  #settling: Promise<void> | undefined;
  #news = 0;
  #telling = false;
  readonly #closed = new AbortController();

  constructor({ licenses, changes, clock, log }: RecognitionDeps) {
    this.#licenses = licenses;
    this.#clock = clock;
    this.#log = log;
    this.#tokens = new Batcher((hashes) => licenses.standingsByToken(hashes));
    this.#rows = new Batcher((rows) => licenses.standingsByRow(rows));
    this.#undo = [
      changes.listen('license', (id) => this.#doubt((bearer) => id === '*' || bearer.licenseId === id)),
      changes.listen('device', (row) => this.#doubt((bearer) => row === '*' || bearer.deviceRow === row)),
      every(clock, 1000, () => void this.#walk()),
    ];
  }

  /** Who shows this token, whatever their repute; undefined when no device does. Mostly answers from memory, at once. */
  recognise(token: string): Bearer | undefined | Promise<Bearer | undefined> {
    if (!isDeviceToken(token)) return undefined;
    const tokenHash = hashSecret(token);
    const known = this.#known.get(tokenHash);
    if (known === undefined) return this.#lookUp(tokenHash);
    return known.doubts === 0 ? known : this.#settled(known);
  }

  /** What is true of the bearer now: waits when there are news that concern it and were not looked into yet. */
  async confirm(bearer: Bearer): Promise<Repute> {
    const known = this.#known.get(bearer.tokenHash);
    if (known === bearer && known.doubts > 0) await this.#settled(known);
    return bearer.repute;
  }

  /** A socket was opened with this token. */
  hold(bearer: Bearer): void {
    const known = this.#known.get(bearer.tokenHash);
    if (known === bearer) known.holders++;
  }

  /** That socket is gone. */
  letGo(bearer: Bearer): void {
    const known = this.#known.get(bearer.tokenHash);
    if (known !== bearer) return;
    known.holders--;
    known.idleSince = this.#clock.monotonic();
  }

  /** Calls back after bearers turned bad; the listener looks for itself which. */
  onTurned(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    for (const undo of this.#undo) undo();
    await this.#settling;
  }

  async #lookUp(tokenHash: string): Promise<Bearer | undefined> {
    for (;;) {
      const news = this.#news;
      const standing = await this.#tokens.ask(tokenHash);
      // Something changed while the answer was on its way: it may tell of before.
      if (news !== this.#news) continue;
      if (standing === undefined || !sameHash(standing.tokenHash, tokenHash)) return undefined;
      return this.#known.get(tokenHash) ?? this.#remember(standing);
    }
  }

  async #settled(known: Known): Promise<Bearer> {
    while (known.repute === 'good' && known.doubts > 0) {
      const { doubts } = known;
      this.#judge(known, await this.#rows.ask(known.deviceRow), doubts);
    }
    return known;
  }

  #remember({
    deviceRow,
    deviceId,
    licenseId,
    tokenHash,
    osVersion,
    appVersion,
    ...states
  }: Standing): Known {
    const known: Known = {
      tokenHash,
      deviceRow,
      deviceId,
      licenseId,
      osVersion,
      appVersion,
      repute: reputeOf({ tokenHash, ...states }, tokenHash),
      holders: 0,
      idleSince: this.#clock.monotonic(),
      doubts: 0,
    };
    if (known.repute === 'good') this.#known.set(tokenHash, known);
    return known;
  }

  /** `doubts` as they were when the question was asked: a good answer does not settle those that came later. */
  #judge(known: Known, standing: Standing | undefined, doubts: number): void {
    if (known.repute !== 'good') return;
    known.repute = reputeOf(standing, known.tokenHash);
    if (known.repute === 'good' && known.doubts !== doubts) return;
    known.doubts = 0;
    this.#doubted.delete(known);
    if (known.repute === 'good') return;
    this.#known.delete(known.tokenHash);
    this.#tellTurned();
  }

  #tellTurned(): void {
    if (this.#telling) return;
    this.#telling = true;
    queueMicrotask(() => {
      this.#telling = false;
      for (const listener of this.#listeners) listener();
    });
  }

  #doubt(concerned: (bearer: Bearer) => boolean): void {
    this.#news++;
    for (const known of this.#known.values()) {
      if (!concerned(known)) continue;
      known.doubts++;
      this.#doubted.add(known);
    }
    this.#settling ??= this.#settle().finally(() => {
      this.#settling = undefined;
    });
  }

  async #settle(): Promise<void> {
    while (this.#doubted.size > 0 && !this.#closed.signal.aborted) {
      const some = this.#doubted.values().take(AT_ONCE).toArray();
      if (await this.#lookAt(some)) await nextTurn();
      else await sleep(this.#clock, RETRY_MS, this.#closed.signal);
    }
  }

  /** Looks at the next few of those remembered, and forgets who has been away for long. */
  async #walk(): Promise<void> {
    const some: Known[] = [];
    const share = Math.ceil(this.#known.size / ROUND_SEC);
    const forgotten = this.#clock.monotonic() - IDLE_MS;
    for (let visited = 0; visited < share; visited++) {
      this.#round ??= this.#known.values();
      const next = this.#round.next();
      if (next.done === true) {
        this.#round = undefined;
        break;
      }
      const { value } = next;
      if (value.holders === 0 && value.idleSince < forgotten) this.#known.delete(value.tokenHash);
      else some.push(value);
    }
    if (some.length > 0) await this.#lookAt(some);
  }

  async #lookAt(some: readonly Known[]): Promise<boolean> {
    const doubts = some.map((known) => known.doubts);
    let standings: ReadonlyMap<string, Standing>;
    try {
      standings = await this.#licenses.standingsByRow(some.map((known) => known.deviceRow));
    } catch (error) {
      this.#log.warn({ err: error, devices: some.length }, 'devices cannot be looked up; trying again');
      return false;
    }
    for (const [index, known] of some.entries())
      this.#judge(known, standings.get(known.deviceRow), doubts[index] ?? 0);
    return true;
  }
}

function reputeOf(
  standing: Pick<Standing, 'device' | 'license' | 'tokenHash'> | undefined,
  tokenHash: string,
): Repute {
  if (standing === undefined || standing.device !== 'active' || standing.license === 'revoked') return 'gone';
  if (!sameHash(standing.tokenHash, tokenHash)) return 'replaced';
  return standing.license === 'suspended' ? 'suspended' : 'good';
}
