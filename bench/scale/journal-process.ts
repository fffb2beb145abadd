// The journal and the claims of one node on PostgreSQL, without the rest of the service.
import { randomBytes, randomUUID } from 'node:crypto';

import { newRequestId } from '@footbridge/protocol/ids';
import { systemClock } from '@footbridge/runtime/clock';
import { Guids } from '@footbridge/service/relay/inbound/guids-sql';
import { createJournal } from '@footbridge/service/relay/journal/journal-sql';
import type { Journal } from '@footbridge/service/relay/journal/journal-sql';
import { openDatabase } from '@footbridge/service/platform/sql/open-database';
import { silentLog } from '@footbridge/testkit/silent-log';

import { serve } from '../environment/worker.ts';

const AT_ONCE = 100;
const LOCATIONS = 1000;
/** Below the size at which the journal drops the oldest messages. */
const PER_FLUSH = 500;

const locationOf = (index: number) => `location${String(index % LOCATIONS).padStart(12, '0')}`;

interface Node {
  readonly journal: Journal;
  readonly guids: Guids;
}

let node: Node | undefined;

const open = (): Node => {
  if (node === undefined) throw new Error('not open');
  return node;
};

const calls = {
  /** Opens the database. It stays open, because the CPU time of a closed connection can no longer be read. */
  async open(url: string): Promise<void> {
    const database = await openDatabase({ engine: 'postgres', url }, () => {});
    node = {
      journal: createJournal({
        database,
        clock: systemClock,
        log: silentLog,
        handleKeys: [randomBytes(32)],
      }),
      guids: new Guids({ database, clock: systemClock, owner: randomUUID() }),
    };
  },

  /** Writes outbound messages with the steps of a delivered one. */
  async outbound(count: number): Promise<void> {
    const { journal } = open();
    for (let from = 0; from < count; from += PER_FLUSH) {
      for (let index = from; index < Math.min(count, from + PER_FLUSH); index++) {
        const id = newRequestId();
        journal.open(
          {
            id,
            direction: 'outbound',
            locationId: locationOf(index),
            messageId: `message${randomUUID()}`,
            kind: 'text',
            length: 80,
            handle: `+1415555${String(index % 10_000).padStart(4, '0')}`,
            contactId: `contact${index % 10_000}`,
          },
          'accepted',
        );
        journal.step(id, 'written', { state: 'written' });
        journal.step(id, 'status_sent', { state: 'pending', detail: { status: 'pending' } });
        journal.step(id, 'mac_reported', { detail: { status: 'delivered' } });
        journal.step(id, 'status_sent', { state: 'delivered', detail: { status: 'delivered' } });
      }
      await journal.flush();
    }
  },

  /** Claims inbound messages and marks them as sent. */
  async inbound(count: number): Promise<void> {
    const { guids } = open();
    let next = 0;
    const tasks = Array.from({ length: AT_ONCE }, async () => {
      while (next < count) {
        const key = { locationId: locationOf(next++), guid: randomUUID().toUpperCase() };
        await guids.claim(key, randomUUID());
        await guids.sent(key, `message${randomUUID()}`);
      }
    });
    await Promise.all(tasks);
  },
};

export type JournalCalls = typeof calls;

serve(calls);
