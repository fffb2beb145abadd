// The console with a large journal, on SQLite and PostgreSQL: how long its requests and its pages take.
// `node scripts/run.mjs bench/console.ts [rows] [locations] [requests]`
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

import { openDatabase } from '@footbridge/service/sql/open-database';
import { findChromium } from '@footbridge/testkit/servers/chromium';
import { startPostgres } from '@footbridge/testkit/servers/postgres';
import { chromium } from 'playwright-core';

import { startBridge } from '../tests/bridge.ts';
import type { RunningBridge } from '../tests/bridge.ts';

const [ROWS = 1_000_000, LOCATIONS = 2000, REQUESTS = 100] = process.argv.slice(2).map(Number);
const DAYS = 30;
const DAY_MS = 86_400_000;
const PER_INSERT = 500;
const PHONE = '+15555550100';

type Choice = Parameters<typeof openDatabase>[0];

/** One in a thousand messages failed, one in ten thousand is on its way, one in a hundred is inbound, one in 5,000 is a sticker. */
function message(index: number, now: number) {
  const at = now - Math.floor((index / ROWS) * DAYS * DAY_MS);
  const status = index % 1000 === 7 ? 'failed' : index % 10_000 === 3 ? 'pending' : 'delivered';
  const steps = [
    [at, 'accepted'],
    [at + 3, 'written'],
    [at + 40, 'crm_told', { status: 'pending' }],
    [at + 900, 'mac_says', { status }],
    [at + 950, 'crm_told', { status }],
  ];
  return {
    id: `request-${String(index).padStart(9, '0')}`,
    direction: index % 100 === 1 ? ('inbound' as const) : ('outbound' as const),
    location_id: `location-${index % LOCATIONS}`,
    message_id: `message-${index}`,
    kind: index % 5000 === 9 ? 'sticker' : 'text',
    status,
    code: status === 'failed' ? 'TIMEOUT' : null,
    phone_masked: '+1•••0100',
    phone_hash: `hash-${index % 100_000}`,
    contact_hash: null,
    length: 40,
    created_at: at,
    updated_at: at + 950,
    steps: JSON.stringify(steps),
  };
}

async function fill(choice: Choice): Promise<void> {
  const database = await openDatabase(choice, () => {});
  const { db } = database;
  const now = Date.now();
  for (let from = 0; from < ROWS; from += PER_INSERT) {
    const rows = Array.from({ length: Math.min(PER_INSERT, ROWS - from) }, (_, index) =>
      message(from + index, now),
    );
    await db.insertInto('messages').values(rows).execute();
  }
  for (let from = 0; from < LOCATIONS; from += PER_INSERT) {
    const rows = Array.from({ length: Math.min(PER_INSERT, LOCATIONS - from) }, (_, index) => ({
      location_id: `location-${from + index}`,
      license_id: null,
      state: 'unassigned' as const,
      device_row: null,
      created_at: now,
      updated_at: now,
    }));
    await db.insertInto('locations').values(rows).execute();
  }
  await database.close();
}

const PATHS = [
  '/operator/messages',
  '/operator/messages?status=failed',
  '/operator/messages?status=pending',
  '/operator/messages?status=rejected',
  '/operator/messages?code=TIMEOUT',
  '/operator/messages?direction=inbound',
  '/operator/messages?kind=sticker',
  '/operator/messages?locationId=location-17',
  '/operator/messages?locationId=location-17&status=failed',
  `/operator/messages?phone=${encodeURIComponent(PHONE)}`,
  '/operator/messages/message-500000',
  '/operator/tenants?limit=30',
  '/operator/issues',
  '/operator/overview',
];

async function measureRequests({ operatorUrl, operatorToken }: RunningBridge): Promise<void> {
  const headers = { Authorization: `Bearer ${operatorToken}` };
  for (const path of PATHS) {
    const times: number[] = [];
    for (let count = 0; count < REQUESTS; count++) {
      const started = performance.now();
      const response = await fetch(operatorUrl + path, { headers });
      await response.arrayBuffer();
      if (response.status >= 500) throw new Error(`${path} responded with ${response.status}`);
      times.push(performance.now() - started);
    }
    print(path, times);
  }
}

/** Records when the first data is on the page. */
const WATCH = `new MutationObserver(() => {
  if (window.firstData === undefined && document.querySelector('.tenant, .messages td, .figure') !== null)
    window.firstData = performance.now();
}).observe(document, { childList: true, subtree: true })`;

async function measurePages({ operatorUrl, operatorToken }: RunningBridge): Promise<void> {
  const browser = await chromium.launch(await findChromium());
  const page = await browser.newPage();
  await page.addInitScript(WATCH);
  await page.goto(`${operatorUrl}/console`);
  await page.getByLabel('Operator token').fill(operatorToken);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.tenant').first().waitFor();
  for (const path of ['', '/messages', '/overview']) {
    const paints: number[] = [];
    const data: number[] = [];
    for (let count = 0; count < 10; count++) {
      await page.goto(`${operatorUrl}/console${path}`);
      await page.locator('.tenant, .messages td, .figure').first().waitFor();
      const [paint, first] = (await page.evaluate(
        "[performance.getEntriesByName('first-contentful-paint')[0].startTime, window.firstData]",
      )) as [number, number];
      paints.push(paint);
      data.push(first);
    }
    print(`/console${path}: first paint`, paints);
    print(`/console${path}: first data`, data);
  }
  await browser.close();
}

function print(name: string, times: number[]): void {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => (sorted[Math.ceil(sorted.length * share) - 1] ?? 0).toFixed(1).padStart(8);
  process.stdout.write(`${name.padEnd(60)} p50 ${at(0.5)} ms   p95 ${at(0.95)} ms\n`);
}

async function run(name: string, choice: Choice, env: Record<string, string>): Promise<void> {
  const started = performance.now();
  await fill(choice);
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  process.stdout.write(`\n${name}: ${ROWS} messages, ${LOCATIONS} locations, written in ${seconds} s\n`);
  const bridge = await startBridge(env);
  try {
    await measureRequests(bridge);
    await measurePages(bridge);
  } finally {
    await bridge.stop();
  }
}

const dir = mkdtempSync(join(tmpdir(), 'footbridge-bench-'));
try {
  const file = join(dir, 'footbridge.sqlite');
  await run('SQLite', { engine: 'sqlite', file }, { DATA_DIR: dir });
} finally {
  rmSync(dir, { recursive: true, force: true });
}
const postgres = await startPostgres();
try {
  const url = await postgres.createDatabase();
  await run('PostgreSQL', { engine: 'postgres', url }, { DATABASE_URL: url });
} finally {
  await postgres.stop();
}
