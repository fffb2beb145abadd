import type { Host } from '../../platform/host.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import type { Slot } from '../../platform/extension-points.ts';
import type { Journal } from './journal-sql.ts';
import type { Retention } from './retention.ts';
import type { JOURNAL } from './settings.ts';

const DAY_MS = 86_400_000;

export interface KeepDeps {
  readonly journal: Journal;
  readonly retention: Slot<Retention>;
  /** Deletes what is as old as the oldest messages. */
  readonly also: readonly ((olderThanMs: number) => Promise<unknown>)[];
}

/** Deletes the messages whose time is over, and what belongs to them. */
export function keepWithin(
  host: Host,
  { journal, retention, also }: KeepDeps,
  settings: ValuesOf<typeof JOURNAL>,
): void {
  const kept = settings.journalDays * DAY_MS;
  host.expires('journal.prune_failed', async () => {
    const own = (await retention.value.list()).flatMap(({ locationId, journalDays }) =>
      journalDays === null ? [] : [[locationId, journalDays * DAY_MS] as const],
    );
    await Promise.all([journal.prune(kept, new Map(own)), ...also.map((prune) => prune(kept))]);
  });
}
