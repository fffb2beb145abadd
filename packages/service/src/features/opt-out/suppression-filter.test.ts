import { createLog } from '@footbridge/runtime/log';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { until } from '@footbridge/testkit/until';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { SuppressionFilter } from './suppression-filter.ts';
import { storedSuppressions } from './suppressions-sql.ts';
import type { StoredSuppressions as Suppressions } from './suppressions-sql.ts';

const numberOf = (index: number) => `+1415555${index}`;
const hashes = { handle: (handle: string) => [`new(${handle})`, `old(${handle})`] };

describe('the suppression filter', () => {
  let database: OpenDatabase;
  let stored: Suppressions;
  const clock = new FakeClock();
  beforeEach(async () => {
    database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
    stored = storedSuppressions({ db: database.db, clock, hashes });
  });
  afterEach(() => database.close());

  /** A filter that counts its lookups. */
  function open(changed: Partial<Suppressions> = {}) {
    const lookUps: string[] = [];
    const filter = new SuppressionFilter({
      stored: {
        ...stored,
        has: (locationId, handle) => {
          lookUps.push(handle);
          return stored.has(locationId, handle);
        },
        ...changed,
      },
      hashes,
      clock,
      log: createLog('silent'),
    });
    return { filter, lookUps };
  }
  const stop = (on: Suppressions, handle: string, isSuppressed = true) =>
    on.set({ locationId: 'loc1', handle, isSuppressed, source: 'word' });

  it('E4 finds every stored opt-out, and looks up almost no other number', async () => {
    for (let index = 0; index < 2500; index++) await stop(stored, numberOf(index));
    const { filter, lookUps } = open();
    await filter.load();
    for (let index = 0; index < 2500; index += 100)
      expect(await filter.has('loc1', numberOf(index))).toBe(true);
    expect(lookUps).toHaveLength(25);
    for (let index = 3000; index < 8000; index++)
      expect(await filter.has('loc1', numberOf(index))).toBe(false);
    for (let index = 0; index < 2500; index++) expect(await filter.has('loc2', numberOf(index))).toBe(false);
    expect(lookUps.length).toBeLessThan(50);
  });

  it('E4 looks up every number until it is loaded, even after a failed load', async () => {
    await stop(stored, numberOf(1));
    let isDown = true;
    const { filter, lookUps } = open({
      list: (options) => (isDown ? Promise.reject(new EngineError('sql', 'down')) : stored.list(options)),
    });
    await filter.load();
    expect(await filter.has('loc1', numberOf(1))).toBe(true);
    expect(await filter.has('loc1', numberOf(2))).toBe(false);
    expect(lookUps).toHaveLength(2);
    isDown = false;
    await clock.advance(60_000);
    await until(async () => {
      lookUps.length = 0;
      expect(await filter.has('loc1', numberOf(3))).toBe(false);
      return lookUps.length === 0;
    });
    expect(await filter.has('loc1', numberOf(1))).toBe(true);
    expect(lookUps).toHaveLength(1);
  });

  it('E4 reflects an opt-out, its removal and restored opt-outs as soon as they are recorded', async () => {
    const { filter } = open();
    const loading = filter.load();
    await stop(filter, numberOf(1));
    await loading;
    expect(await filter.has('loc1', numberOf(1))).toBe(true);
    await stop(filter, numberOf(1), false);
    expect(await filter.has('loc1', numberOf(1))).toBe(false);
    await stop(filter, numberOf(1));
    expect(await filter.has('loc1', numberOf(1))).toBe(true);
    const hash = `old(${numberOf(2)})`;
    await filter.restore([{ locationId: 'loc1', hash, source: 'operator', since: 1 }]);
    expect(await filter.has('loc1', numberOf(2))).toBe(true);
    expect(await filter.list({ limit: 10 })).toHaveLength(3);
  });
});
