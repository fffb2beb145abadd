import { MAX_BATCH, nextTurn } from '../../platform/batcher.ts';
import type { Journal } from '../../relay/journal/journal-sql.ts';
import { ActiveHours, HOUR_MS, REMEMBERED_HOURS } from './active-hours.ts';
import { failing, unanswered } from './judge-sends.ts';
import type { LineTraffic } from './tenant-path.ts';

export interface LineWatchDeps {
  readonly journal: Pick<Journal, 'inboundHours' | 'lastInbound' | 'troubledSends' | 'counts'>;
  readonly now: () => number;
}

/** A location with a connected Mac. */
export interface ConnectedLine {
  readonly locationId: string;
  /** When the Mac last received a text, as it reports. */
  readonly lastReceivedAt: number | null;
}

interface Line {
  /** The number of the last check at which its Mac was connected. */
  checked: number;
  readonly hours: ActiveHours;
  lastAt: number;
  /** The result of `unusualSilence` for an hour: it changes only with the hour or with a text. */
  judged: { readonly hour: number; readonly expectedFrom: number | null } | undefined;
}

const NO_TRAFFIC: LineTraffic = { unanswered: null, failing: null, silent: null };

/** Older sends say nothing about the current state. */
const SENDS_MS = 24 * HOUR_MS;
/** Other nodes write their journals in batches, and clocks differ. */
const OVERLAP_MS = 300_000;
/** On a holiday nothing is sent either. Silence counts only if texts were sent since the first one was expected. */
const MIN_SENT = 3;

/**
 * Learns in which hours of the week each line usually receives texts, and finds lines whose traffic shows that Messages does not work.
 * Reads the journal only: nothing is added to the path of a message.
 */
export class LineWatch {
  readonly #deps: LineWatchDeps;
  readonly #lines = new Map<string, Line>();
  #checks = 0;
  #readUntil: number | undefined;
  #latest: ReadonlyMap<string, LineTraffic> = new Map();

  constructor(deps: LineWatchDeps) {
    this.#deps = deps;
  }

  /** Returns the result of the last check. */
  of(locationId: string): LineTraffic {
    return this.#latest.get(locationId) ?? NO_TRAFFIC;
  }

  async check(connected: Iterable<ConnectedLine>): Promise<void> {
    const { journal, now } = this.#deps;
    const at = now();
    await this.#learn(connected, at);
    const sends = await journal.troubledSends(at - SENDS_MS);
    const latest = new Map<string, LineTraffic>();
    let judged = 0;
    for (const [locationId, line] of this.#lines) {
      if (++judged % MAX_BATCH === 0) await nextTurn();
      const own = sends.get(locationId);
      const expectedFrom = unusualSilence(line, hourOf(at));
      // Nearly every line of a large fleet is skipped here.
      if (own === undefined && expectedFrom === null) continue;
      const traffic = {
        unanswered: unanswered(own ?? [], at),
        failing: failing(own ?? []),
        silent: expectedFrom === null ? null : await this.#silence(locationId, line, expectedFrom, at),
      };
      if (traffic.unanswered ?? traffic.failing ?? traffic.silent) latest.set(locationId, traffic);
    }
    this.#latest = latest;
  }

  /** Reads the history of lines that were not connected at the last check, and the newest texts of the others. */
  async #learn(connected: Iterable<ConnectedLine>, at: number): Promise<void> {
    const { journal } = this.#deps;
    const recent =
      this.#readUntil === undefined
        ? new Map<string, number>()
        : await journal.lastInbound(this.#readUntil - OVERLAP_MS);
    // Set before the first line is read: if this check fails, the lines read so far are kept, and the next check must find their newer texts.
    this.#readUntil ??= at;
    const check = ++this.#checks;
    for (const { locationId, lastReceivedAt } of connected) {
      const line = this.#lines.get(locationId) ?? (await this.#read(locationId, at));
      line.checked = check;
      addNewer(line, recent.get(locationId) ?? 0, at);
      addNewer(line, lastReceivedAt ?? 0, at);
    }
    for (const [locationId, { checked }] of this.#lines)
      if (checked !== check) this.#lines.delete(locationId);
    this.#readUntil = at;
  }

  async #read(locationId: string, at: number): Promise<Line> {
    const line: Line = { checked: 0, hours: new ActiveHours(), lastAt: 0, judged: undefined };
    const times = await this.#deps.journal.inboundHours(locationId, at - REMEMBERED_HOURS * HOUR_MS);
    for (const time of times) add(line, time);
    this.#lines.set(locationId, line);
    await nextTurn();
    return line;
  }

  async #silence(
    locationId: string,
    line: Line,
    expectedFrom: number,
    at: number,
  ): Promise<LineTraffic['silent']> {
    const counts = await this.#deps.journal.counts({
      locationIds: [locationId],
      from: expectedFrom * HOUR_MS,
      until: at,
      bucketMs: HOUR_MS,
    });
    const sent = counts
      .filter(({ direction, state }) => direction === 'outbound' && state === 'delivered')
      .reduce((sum, { count }) => sum + count, 0);
    return sent < MIN_SENT ? null : { since: line.lastAt, sent };
  }
}

const hourOf = (time: number) => Math.floor(time / HOUR_MS);

/** The first hour in which a text was expected, or null if the silence of the line is usual. */
function unusualSilence(line: Line, hour: number): number | null {
  if (line.judged?.hour !== hour) line.judged = { hour, expectedFrom: line.hours.unusualSilence(hour) };
  return line.judged.expectedFrom;
}

function addNewer(line: Line, time: number, now: number): void {
  if (time > line.lastAt && time <= now) add(line, time);
}

function add(line: Line, time: number): void {
  line.hours.add(hourOf(time));
  line.judged = undefined;
  line.lastAt = Math.max(line.lastAt, time);
}
