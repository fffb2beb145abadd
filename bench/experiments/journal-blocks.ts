// Cost of a row in the journal, with and without blocks in its indexes by person: node scripts/run.mjs bench/experiments/journal-blocks.ts
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

import { newRequestId } from '@footbridge/protocol/ids';
import { systemClock } from '@footbridge/runtime/clock';
import { createJournal } from '@footbridge/service/relay/journal/journal-sql';
import { openDatabase } from '@footbridge/service/platform/sql/open-database';
import { silentLog } from '@footbridge/testkit/silent-log';

const MESSAGES = 40_000;
const PER_COMMIT = 100;
const LOCATIONS = 1000;
const PEOPLE = 20_000;
const ROUNDS = 3;

/** Resolves with the microseconds of CPU per message, for the second 40,000 messages. */
async function measure(hasBlocks: boolean): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'footbridge-journal-'));
  const database = await openDatabase({ engine: 'sqlite', file: join(folder, 'journal.sqlite') }, () => {});
  const { schema } = database.db;
  for (const column of hasBlocks ? [] : ['phone_hash', 'contact_hash']) {
    await schema.dropIndex(`messages_${column}`).execute();
    await schema.createIndex(`messages_${column}`).on('messages').columns([column, 'created_at']).execute();
  }
  const journal = createJournal({
    database,
    clock: systemClock,
    log: silentLog,
    handleKeys: [Buffer.alloc(32, 1)],
  });
  const write = async () => {
    for (let done = 0; done < MESSAGES; done += PER_COMMIT) {
      for (let count = 0; count < PER_COMMIT; count++) openMessage();
      await journal.flush();
    }
  };
  const openMessage = () => {
    const person = Math.floor(Math.random() * PEOPLE);
    const id = newRequestId(Date.now());
    journal.open(
      {
        id,
        direction: 'outbound',
        locationId: `location-${Math.floor(Math.random() * LOCATIONS)}`,
        messageId: randomUUID(),
        kind: 'text',
        handle: `+1555${String(5_000_000 + person)}`,
        contactId: `contact-${person}`,
        length: 40,
      },
      'accepted',
    );
    journal.step(id, 'status_sent', { state: 'delivered', detail: { status: 'delivered' } });
  };
  await write();
  const before = process.cpuUsage();
  await write();
  const { user, system } = process.cpuUsage(before);
  await journal.close();
  await database.close();
  await rm(folder, { recursive: true, force: true });
  return (user + system) / MESSAGES;
}

for (let round = 0; round < ROUNDS; round++)
  for (const hasBlocks of [true, false])
    console.log(
      `${hasBlocks ? 'with blocks   ' : 'without blocks'}: ${(await measure(hasBlocks)).toFixed(0)} µs`,
    );
