// Measures the backup and restore of a large journal: node scripts/run.mjs bench/backup.ts [--rows 1000000] [--engine sqlite|postgres]
// During the backup, the service receives signed webhooks and writes to its journal. Probes measure the stalls of its event loop.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { openDatabase } from '@footbridge/service/platform/sql/open-database';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { ed25519Key, signedRequest } from '@footbridge/testkit/keys';
import { startPostgres } from '@footbridge/testkit/servers/postgres';
import { startService } from '@footbridge/testkit/service';
import type { Service } from '@footbridge/testkit/service';

const CLI = join(import.meta.dirname, '../packages/cli/src/main.ts');
const PROBE_EVERY_MS = 20;
const WEBHOOKS_PER_SEC = 50;
const ROWS_PER_INSERT = 1000;

const report = (name: string, value: string) => process.stdout.write(`${name.padEnd(34)} ${value}\n`);

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms (${sorted.length})`;
}

/** Inserts rows like those of a real journal: two thirds delivered, all with hashes and steps. */
async function fill(choice: Parameters<typeof openDatabase>[0], rows: number): Promise<void> {
  const database = await openDatabase(choice, () => {});
  const { db } = database;
  for (let start = 0; start < rows; start += ROWS_PER_INSERT)
    await db
      .insertInto('messages')
      .values(
        Array.from({ length: Math.min(ROWS_PER_INSERT, rows - start) }, (_, index) => ({
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
          created_at: Date.now() - start - index,
          updated_at: Date.now(),
          steps:
            '[0,"accepted",{"key":"crm"}]\n[5,"routed",{"node":"a"}]\n[9,"written",{}]\n[1900,"delivered",{}]',
        })),
      )
      .execute();
  await database.close();
}

/** Sends probes and webhooks until `ended` returns true. */
async function load(service: Service, key: ReturnType<typeof ed25519Key>, ended: () => boolean) {
  const probes: number[] = [];
  const webhooks: number[] = [];
  const probing = (async () => {
    while (!ended()) {
      const start = performance.now();
      await (await fetch(`${service.operatorUrl}/livez`)).text();
      probes.push(performance.now() - start);
      await sleep(PROBE_EVERY_MS);
    }
  })();
  while (!ended()) {
    const start = performance.now();
    const body = { locationId: 'loc1', contactId: 'c', phone: '+14155550100', message: 'x' };
    await (await fetch(`${service.url}/crm/webhook`, signedRequest(body, key))).text();
    webhooks.push(performance.now() - start);
    await sleep(1000 / WEBHOOKS_PER_SEC);
  }
  await probing;
  return { probes, webhooks };
}

async function run(rows: number, engine: string): Promise<void> {
  const cleanup = createCleanup();
  try {
    const key = ed25519Key();
    const folder = await tempDir(cleanup);
    const file = join(folder, 'footbridge.backup');
    const dataDir = join(folder, 'data');
    await mkdir(dataDir);
    let url = `sqlite:${join(dataDir, 'footbridge.sqlite')}`;
    if (engine === 'postgres') {
      const server = await startPostgres();
      cleanup.add(() => server.stop());
      url = await server.createDatabase();
    }
    const env = { DATA_DIR: dataDir, DATABASE_URL: url, BACKUP_KEY: randomBytes(16).toString('hex') };
    // Runs the CLI in the background. `ended` becomes true when it exits.
    const cli = (...args: string[]) => {
      const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CLI, ...args], {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'inherit', 'inherit'],
      });
      const start = performance.now();
      const state = { ended: false, seconds: 0 };
      void once(child, 'exit').then(() => {
        state.ended = true;
        state.seconds = (performance.now() - start) / 1000;
      });
      return state;
    };
    await fill(engine === 'postgres' ? { engine, url } : { engine: 'sqlite', file: url.slice(7) }, rows);
    const service = await startService({
      dataDir,
      env: { ...env, CRM_PUBLIC_KEY: key.publicKey, RATE_LIMIT_CRM_WEBHOOK: '1000000' },
    });
    cleanup.add(() => service.stop());
    const quiet = performance.now() + 5000;
    report('GET /livez before', spread((await load(service, key, () => performance.now() > quiet)).probes));
    const backup = cli('backup', file);
    const { probes, webhooks } = await load(service, key, () => backup.ended);
    report(
      `backup of ${rows} messages`,
      `${backup.seconds.toFixed(1)} s, ${Math.round(statSync(file).size / 1e6)} MB`,
    );
    report('GET /livez during the backup', spread(probes));
    report('webhooks during the backup', spread(webhooks));
    await service.halt();
    const restore = cli('restore', file, '--yes');
    while (!restore.ended) await sleep(50);
    report(`restore of ${rows} messages`, `${restore.seconds.toFixed(1)} s`);
  } finally {
    await cleanup.run();
  }
}

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    engine: { type: 'string', default: 'sqlite' },
  },
});
await run(Number(values.rows), values.engine);
