import { setImmediate } from 'node:timers/promises';

import type { StoredSuppressions as Suppressions, SuppressionView } from './suppressions-sql.ts';
import type { Phones } from '../../relay/people/handles.ts';

export interface ImportOptOutsDeps {
  readonly suppressions: Pick<Suppressions, 'set' | 'restore'>;
  readonly phones: Pick<Phones, 'handle'>;
  /** The ids of the keys with which this service hashes. */
  readonly keyIds: readonly string[];
  readonly now: () => number;
}

export type ExportedOptOut = Omit<SuppressionView, 'locationId'>;

/** Parsing and storing this many numbers takes a few milliseconds. Other requests are handled in between. */
const NUMBERS_PER_TURN = 100;

/** Imports lists of people who opted out, in order. A repeated import changes nothing. */
export function createOptOutImport({ suppressions, phones, keyIds, now }: ImportOptOutsDeps) {
  /** A later START must override it, so no decision is dated in the future. */
  const past = (at: number) => Math.min(at, now());

  return {
    /** Records numbers as opted out at that time; undefined: now. Resolves with the positions of invalid numbers. */
    async numbers(locationId: string, numbers: readonly string[], decidedAt?: number): Promise<number[]> {
      const at = past(decidedAt ?? now());
      const invalid: number[] = [];
      for (let start = 0; start < numbers.length; start += NUMBERS_PER_TURN) {
        const handles = numbers
          .slice(start, start + NUMBERS_PER_TURN)
          .map((given, index) => ({ handle: phones.handle(given), position: start + index }));
        await suppressions.set(
          ...handles.flatMap(({ handle, position }) => {
            if (handle !== undefined)
              return [{ locationId, handle, isSuppressed: true, source: 'operator' as const, at }];
            invalid.push(position);
            return [];
          }),
        );
        await setImmediate();
      }
      return invalid;
    },

    /** Restores entries that a service with the same key exported. Resolves with false when this service does not have the key. */
    async exported(locationId: string, key: string, entries: readonly ExportedOptOut[]): Promise<boolean> {
      if (!keyIds.includes(key)) return false;
      for (let start = 0; start < entries.length; start += NUMBERS_PER_TURN) {
        await suppressions.restore(
          entries
            .slice(start, start + NUMBERS_PER_TURN)
            .map((entry) => ({ ...entry, locationId, since: past(entry.since) })),
        );
        await setImmediate();
      }
      return true;
    },
  };
}

export type OptOutImport = ReturnType<typeof createOptOutImport>;
