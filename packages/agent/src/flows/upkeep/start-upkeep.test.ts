import { createLog } from '@footbridge/runtime/log';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { openJournal } from '../../journal/journal-sqlite.ts';
import { newestEntry, pruneHourly } from './prune-journal.ts';
import { startUpkeep } from './start-upkeep.ts';

const HOUR_MS = 3600_000;
const DAY_MS = 24 * HOUR_MS;

const cleanup = createCleanup();
afterEach(() => cleanup.run());

function openEmpty() {
  const journal = openJournal(':memory:');
  cleanup.add(() => journal.close());
  return journal;
}

describe('the hourly deletion of old entries', () => {
  function start(mayDelete: () => Promise<boolean>) {
    const clock = new FakeClock();
    const pruned: number[] = [];
    const failures: unknown[] = [];
    const end = pruneHourly({
      journal: { prune: (before) => void pruned.push((clock.now() - before) / DAY_MS) },
      clock,
      clockGuard: { mayDelete },
      onFailure: (error) => failures.push(error),
    });
    return { clock, pruned, failures, end };
  }

  it('deletes entries of more than 30 days, now and every hour', async () => {
    const { clock, pruned, end } = start(() => Promise.resolve(true));
    await clock.advance(2 * HOUR_MS);
    expect(pruned).toEqual([30, 30, 30]);
    end();
    await clock.advance(2 * HOUR_MS);
    expect(pruned).toHaveLength(3);
  });

  it('deletes nothing while the clock is in doubt', async () => {
    const { clock, pruned } = start(() => Promise.resolve(false));
    await clock.advance(3 * HOUR_MS);
    expect(pruned).toEqual([]);
  });

  it('reports a failure and tries again an hour later', async () => {
    let calls = 0;
    const { clock, pruned, failures } = start(() =>
      ++calls === 1 ? Promise.reject(new Error('disk full')) : Promise.resolve(true),
    );
    await clock.advance(HOUR_MS);
    expect([pruned, failures]).toEqual([[30], [new Error('disk full')]]);
  });

  it('deletes nothing when it is stopped while the clock is being checked', async () => {
    const asked = Promise.withResolvers<boolean>();
    const { clock, pruned, end } = start(() => asked.promise);
    end();
    asked.resolve(true);
    await clock.advance(0);
    expect(pruned).toEqual([]);
  });
});

describe('the upkeep of the journal', () => {
  it('logs the health, and goes on after a failure', async () => {
    const lines: Record<string, unknown>[] = [];
    const log = createLog('info', {
      destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
    });
    const journal = openEmpty();
    let calls = 0;
    const end = startUpkeep({
      journal,
      clock: new FakeClock(),
      clockGuard: { mayDelete: () => Promise.resolve(false) },
      log,
      intervalMs: 5,
      health() {
        if (++calls === 1) throw new Error('disk full');
        return { queue: 3 };
      },
    });
    await until(() => lines.length >= 2);
    end();
    expect(lines[0]).toMatchObject({ event: 'journal.maintenance_failed' });
    expect(lines[1]).toMatchObject({ event: 'agent.health', queue: 3, unacknowledged: 0 });
    const count = lines.length;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(lines).toHaveLength(count);
  });

  it('finds no newest entry in an empty journal', () => {
    expect(newestEntry(openEmpty())).toBeNull();
  });
});
