// Measures the backup and restore of a large journal: node scripts/run.mjs bench/backup.ts [--rows 1000000] [--engine sqlite|postgres]
// During the backup, the service receives signed webhooks and writes to its journal. Probes measure the stalls of its event loop.
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { openDatabase } from '@footbridge/service/platform/sql/open-database';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { ed25519Key, signedRequest } from '@footbridge/testkit/keys';
import { startPostgres } from '@footbridge/testkit/servers/postgres';
import { startService } from '@footbridge/testkit/service';

import { print, printTimes, probe, repeat, startCommand } from './measure/beside-a-command.ts';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    engine: { type: 'string', default: 'sqlite' },
  },
});
const ROWS = Number(values.rows);
const WEBHOOKS_PER_SEC = 50;
const ROWS_PER_INSERT = 1000;
const STEPS =
  '[0,"accepted",{"key":"crm"}]\n[5,"routed",{"node":"a"}]\n[9,"written",{}]\n[1900,"delivered",{}]';

/** A row like those of a real journal: two thirds delivered, all with hashes and steps. */
const row = (index: number) => ({
  id: `req_${randomBytes(12).toString('hex')}`,
  direction: index % 3 === 0 ? ('inbound' as const) : ('outbound' as const),
  location_id: `loc${index % 50}`,
  message_id: randomBytes(10).toString('hex'),
  kind: 'text',
  status: index % 3 === 1 ? 'failed' : 'delivered',
  code: index % 3 === 1 ? 'TIMEOUT' : null,
  phone_masked: '+1•••0100',
  phone_hash: randomBytes(16).toString('hex'),
  contact_hash: randomBytes(16).toString('hex'),
  length: 120,
  created_at: Date.now() - index,
  updated_at: Date.now(),
  steps: STEPS,
});

async function fill(choice: Parameters<typeof openDatabase>[0]): Promise<void> {
  const database = await openDatabase(choice, () => {});
  for (let start = 0; start < ROWS; start += ROWS_PER_INSERT) {
    const length = Math.min(ROWS_PER_INSERT, ROWS - start);
    const rows = Array.from({ length }, (_, index) => row(start + index));
    await database.db.insertInto('messages').values(rows).execute();
  }
  await database.close();
}

const cleanup = createCleanup();
try {
  const key = ed25519Key();
  const folder = await tempDir(cleanup);
  const backupFile = join(folder, 'footbridge.backup');
  const dataDir = join(folder, 'data');
  await mkdir(dataDir);
  const sqlite = join(dataDir, 'footbridge.sqlite');
  let url = `sqlite:${sqlite}`;
  if (values.engine === 'postgres') {
    const server = await startPostgres();
    cleanup.add(() => server.stop());
    url = await server.createDatabase();
  }
  await fill(values.engine === 'postgres' ? { engine: 'postgres', url } : { engine: 'sqlite', file: sqlite });
  const env = { DATA_DIR: dataDir, DATABASE_URL: url, BACKUP_KEY: randomBytes(16).toString('hex') };
  const service = await startService({
    dataDir,
    env: { ...env, CRM_PUBLIC_KEY: key.publicKey, RATE_LIMIT_CRM_WEBHOOK: '1000000' },
  });
  cleanup.add(() => service.stop());
  const webhook = async () => {
    const body = { locationId: 'loc1', contactId: 'c', phone: '+14155550100', message: 'x' };
    return (await fetch(`${service.url}/crm/webhook`, signedRequest(body, key))).text();
  };
  const load = (ended: () => boolean) =>
    Promise.all([probe(service, ended), repeat(webhook, 1000 / WEBHOOKS_PER_SEC, ended)]);
  const quietEnd = performance.now() + 5000;
  const [before] = await load(() => performance.now() > quietEnd);
  printTimes('GET /livez before', before);
  const backup = startCommand(['backup', backupFile], env);
  const [probes, webhooks] = await load(() => backup.ended);
  const megabytes = Math.round(statSync(backupFile).size / 1e6);
  print(`backup of ${ROWS} messages`, `${backup.seconds.toFixed(1)} s, ${megabytes} MB`);
  printTimes('GET /livez during the backup', probes);
  printTimes('webhooks during the backup', webhooks);
  await service.halt();
  const restore = startCommand(['restore', backupFile, '--yes'], env);
  await restore.exited;
  print(`restore of ${ROWS} messages`, `${restore.seconds.toFixed(1)} s`);
} finally {
  await cleanup.run();
}
