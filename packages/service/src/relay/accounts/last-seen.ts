import { every } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import type { Devices } from './devices-sql.ts';
import { batches, nextTurn } from '../../platform/batcher.ts';

const FLUSH_MS = 30_000;

export interface LastSeenDeps {
  readonly devices: Pick<Devices, 'recordLastSeen' | 'updateVersions'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Writes when devices were connected last, in the background and in batches. */
export class LastSeen {
  readonly #devices: LastSeenDeps['devices'];
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #stop: () => void;
  #rows = new Set<string>();
  #flushing: Promise<void> = Promise.resolve();

  constructor({ devices, clock, log }: LastSeenDeps) {
    this.#devices = devices;
    this.#clock = clock;
    this.#log = log;
    this.#stop = every(clock, FLUSH_MS, () => void this.flush());
  }

  /** Records that the device connects or disconnects now. */
  note(deviceRow: string): void {
    this.#rows.add(deviceRow);
  }

  /** Stores the reported versions of a Mac if they differ from the known ones. */
  async versions(
    known: { deviceRow: string; osVersion: string; appVersion: string },
    reported: { osVersion: string; appVersion: string },
  ): Promise<void> {
    if (known.osVersion === reported.osVersion && known.appVersion === reported.appVersion) return;
    Object.assign(known, reported);
    try {
      await this.#devices.updateVersions(known.deviceRow, reported);
    } catch (error) {
      this.#log.warn(
        { event: 'license.versions_not_stored', err: error, device: known.deviceRow },
        'device versions not stored',
      );
    }
  }

  /** Waits for a flush in progress first, so that closing waits for both. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(() => this.#flush());
    return this.#flushing;
  }

  async #flush(): Promise<void> {
    const rows = [...this.#rows];
    this.#rows = new Set();
    for (const batch of batches(rows)) {
      await this.#write(batch);
      await nextTurn();
    }
  }

  async #write(rows: readonly string[]): Promise<void> {
    try {
      await this.#devices.recordLastSeen(rows, this.#clock.now());
    } catch (error) {
      for (const row of rows) this.#rows.add(row);
      this.#log.warn(
        { event: 'license.last_seen_not_stored', err: error, devices: rows.length },
        'last-seen times not stored, will retry',
      );
    }
  }

  async close(): Promise<void> {
    this.#stop();
    await this.flush();
  }
}
