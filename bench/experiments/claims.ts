// Cost of claiming and marking one inbound message, by the number of messages per commit. `node bench/experiments/claims.ts`
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

import { systemClock } from '@footbridge/runtime/clock';
import { Guids } from '@footbridge/service/relay/inbound/guids-sql';
import { openDatabase } from '@footbridge/service/platform/sql/open-database';

const MESSAGES = 6400;

const folder = await mkdtemp(join(tmpdir(), 'footbridge-claims-'));
const file = join(folder, 'claims.sqlite');
const database = await openDatabase({ engine: 'sqlite', file }, () => {});
const guids = new Guids({ database, clock: systemClock, owner: 'bench' });

async function rememberTogether(count: number): Promise<void> {
  const keys = Array.from({ length: count }, () => ({ locationId: 'bench', guid: randomUUID() }));
  await Promise.all(keys.map((key) => guids.claim(key, randomUUID())));
  await Promise.all(keys.map((key) => guids.sent(key, 'message-of-bench')));
}

// Warm up, and fill the table.
for (let done = 0; done < 2 * MESSAGES; done += 64) await rememberTogether(64);
for (const together of [1, 4, 16, 64]) {
  const before = process.cpuUsage();
  for (let done = 0; done < MESSAGES; done += together) await rememberTogether(together);
  const { user, system } = process.cpuUsage(before);
  const micros = ((user + system) / MESSAGES).toFixed(0);
  console.log(`${String(together).padStart(3)} in a commit: ${micros} µs of CPU per message`);
}
await guids.close();
await database.close();
await rm(folder, { recursive: true, force: true });
