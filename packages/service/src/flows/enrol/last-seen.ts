import { every } from '../../clock.ts';
import type { Clock } from '../../clock.ts';
import type { Logger } from '../../log.ts';
import type { Licenses } from '../../ports/licenses/licenses.ts';
import { nextTurn, slices } from './batcher.ts';

const FLUSH_MS = 30_000;

export interface LastSeenDeps {
  readonly licenses: Pick<Licenses, 'seen' | 'updated'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** When devices came and went, written behind and together: a storm of Macs is one statement. */
export class LastSeen {
  readonly #licenses: LastSeenDeps['licenses'];
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #stop: () => void;
  #rows = new Set<string>();
  #flushing: Promise<void> = Promise.resolve();

  constructor({ licenses, clock, log }: LastSeenDeps) {
    this.#licenses = licenses;
    this.#clock = clock;
    this.#log = log;
    this.#stop = every(clock, FLUSH_MS, () => void this.flush());
  }

  note(deviceRow: string): void {
    this.#rows.add(deviceRow);
  }

  /** A Mac tells its versions every time it comes; they are stored when they are news. */
  async versions(
    known: { deviceRow: string; osVersion: string; appVersion: string },
    told: { osVersion: string; appVersion: string },
  ): Promise<void> {
    if (known.osVersion === told.osVersion && known.appVersion === told.appVersion) return;
    Object.assign(known, told);
    try {
      await this.#licenses.updated(known.deviceRow, told);
    } catch (error) {
      this.#log.warn({ err: error, device: known.deviceRow }, 'the versions of a Mac could not be noted');
    }
  }

  /** After a flush that is under way, so that closing waits for both. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(() => this.#flush());
    return this.#flushing;
  }

  async #flush(): Promise<void> {
    const rows = [...this.#rows];
    this.#rows = new Set();
    for (const some of slices(rows)) {
      await this.#write(some);
      await nextTurn();
    }
  }

  async #write(rows: readonly string[]): Promise<void> {
    try {
      await this.#licenses.seen(rows, this.#clock.now());
    } catch (error) {
      for (const row of rows) this.#rows.add(row);
      this.#log.warn({ err: error, devices: rows.length }, 'when Macs were seen could not be noted');
    }
  }

  async close(): Promise<void> {
    this.#stop();
    await this.flush();
  }
}
