import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import type { Changes } from '../../platform/changes/changes.ts';
import type { Locations } from './locations-sql.ts';

export interface HandoversDeps {
  readonly locations: Pick<Locations, 'handovers'>;
  readonly changes: Pick<Changes, 'listen'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

/** How long a Mac knows its messages (M4). */
const KNOWN_MS = 30 * 86_400_000;

/** When locations were handed over to another device. In memory, since every webhook asks. */
export class Handovers {
  readonly #deps: HandoversDeps;
  readonly #times = new Map<string, number>();
  readonly #unlisten: () => void;

  private constructor(deps: HandoversDeps) {
    this.#deps = deps;
    this.#unlisten = deps.changes.listen('location', (subject) => {
      // Until the time is read, the location counts as handed over.
      if (subject !== '*') this.#times.set(subject, deps.clock.now());
      void this.#read(subject === '*' ? undefined : subject).catch((error: unknown) =>
        deps.log.warn({ event: 'location.handover_unknown', err: error }, 'handovers of locations not read'),
      );
    });
  }

  static async open(deps: HandoversDeps): Promise<Handovers> {
    const handovers = new Handovers(deps);
    await handovers.#read(undefined);
    return handovers;
  }

  /** Returns undefined when the location was not handed over in the last 30 days. */
  of(locationId: string): number | undefined {
    const at = this.#times.get(locationId);
    if (at === undefined || at >= this.#deps.clock.now() - KNOWN_MS) return at;
    this.#times.delete(locationId);
    return undefined;
  }

  close(): void {
    this.#unlisten();
  }

  async #read(locationId: string | undefined): Promise<void> {
    const { locations, clock } = this.#deps;
    const found = await locations.handovers(clock.now() - KNOWN_MS, locationId);
    if (locationId !== undefined && !found.has(locationId)) this.#times.delete(locationId);
    for (const [id, at] of found) this.#times.set(id, at);
  }
}
