// The console with a large journal: how long its requests and its pages take.
// `node scripts/run.mjs bench/console.ts [--engine sqlite|postgres] [--rows N] [--locations N] [--requests N]`
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';

// A service reads the pages when it starts, so they are built before.
import '@footbridge/console/build-console';
import { keyedHash } from '@footbridge/service/relay/people/handles';
import { blockOf } from '@footbridge/service/relay/journal/journal-sql-writer';
import { openDatabase } from '@footbridge/service/platform/sql/open-database';
import { findChromium } from '@footbridge/testkit/servers/chromium';
import { startPostgres } from '@footbridge/testkit/servers/postgres';
import { chromium } from 'playwright-core';

import { startBridge } from '../tests/bridge.ts';
import type { RunningBridge } from '../tests/bridge.ts';

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string' },
    rows: { type: 'string', default: '1000000' },
    locations: { type: 'string', default: '2000' },
    requests: { type: 'string', default: '100' },
  },
});
const ROWS = Number(options.rows);
const LOCATIONS = Number(options.locations);
const REQUESTS = Number(options.requests);
const PAGE_LOADS = 20;
const DAYS = 30;
const DAY_MS = 86_400_000;
const PER_INSERT = 500;
const PHONE = '+15555550100';
/** Two keys, as during a rotation: a search then looks for two hashes. */
const KEYS = [randomBytes(32), randomBytes(32)];
const PHONE_HASHES = keyedHash(KEYS).handle(PHONE);

type Choice = Parameters<typeof openDatabase>[0];

/**
 * One in a thousand messages failed, one in ten thousand is on its way, one in a hundred is inbound, one in 5,000 is a sticker, and one in
 * a hundred belongs to the phone number that is searched for.
 */
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
    phone_hash: index % 100 === 5 ? PHONE_HASHES[index % 200 === 5 ? 0 : 1] : `hash-${index % 100_000}`,
    contact_hash: null,
    length: 40,
    created_at: at,
    updated_at: at + 950,
    steps: JSON.stringify(steps),
    block: blockOf(at, (ROWS - index) % (ROWS / DAYS)),
  };
}

/** Every location has a Mac that is not connected and a grant; a license has 20 of them. */
async function fillTenants(db: Awaited<ReturnType<typeof openDatabase>>['db'], now: number): Promise<void> {
  const times = { created_at: now, updated_at: now };
  const all = Array.from({ length: LOCATIONS }, (_, index) => ({
    locationId: `location-${index}`,
    device: `device-${index}`,
    license: `license-${Math.floor(index / 20)}`,
  }));
  for (const id of new Set(all.map(({ license }) => license)))
    await db
      .insertInto('licenses')
      .values({ id, label: id, key_hash: id, key_hint: '', max_seats: 20, status: 'active', ...times })
      .execute();
  for (let from = 0; from < LOCATIONS; from += PER_INSERT) {
    const some = all.slice(from, from + PER_INSERT);
    const devices = some.map(({ device, license }) => ({
      id: device,
      license_id: license,
      device_id: device,
      name: 'Front desk',
      os_version: '26.1',
      app_version: '0.1.0',
      token_hash: device,
      status: 'active' as const,
      activated_at: now,
      last_seen_at: now,
      updated_at: now,
    }));
    await db.insertInto('devices').values(devices).execute();
    const locations = some.map(({ locationId, device, license }) => ({
      location_id: locationId,
      license_id: license,
      state: 'bound' as const,
      device_row: device,
      ...times,
    }));
    await db.insertInto('locations').values(locations).execute();
    const grants = some.map(({ locationId }) => ({
      kind: 'location' as const,
      owner_id: locationId,
      company_id: null,
      access_token: 'x'.repeat(1500),
      refresh_token: 'x'.repeat(1500),
      expires_at: now + 30 * DAY_MS,
      state: 'active' as const,
      last_error: null,
      refreshed_at: now,
      event_at: 0,
      derived: 0,
      ...times,
    }));
    await db.insertInto('oauth_grants').values(grants).execute();
  }
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
  await fillTenants(db, now);
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
  `/operator/messages/message-${Math.floor(ROWS / 2)}`,
  '/operator/tenants?limit=30',
  '/operator/issues',
  '/operator/overview',
  '/operator/licenses',
  '/operator/devices',
  '/operator/locations',
];
const LIMITED_PATHS = ['/operator/messages', '/operator/tenants?limit=30', '/operator/overview'];

async function measureRequests(bridge: RunningBridge): Promise<void> {
  const { operatorToken } = bridge;
  for (const path of PATHS) await measure(bridge, path, operatorToken);
  const response = await fetch(`${bridge.operatorUrl}/operator/tokens`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${operatorToken}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      label: 'A customer',
      locations: Array.from({ length: 20 }, (_, index) => `location-${index}`),
    }),
  });
  const { token } = (await response.json()) as { token: string };
  for (const path of LIMITED_PATHS) await measure(bridge, path, token, ' (token for 20 locations)');
}

async function measure(
  { operatorUrl }: RunningBridge,
  path: string,
  token: string,
  note = '',
): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` };
  const times: number[] = [];
  for (let count = 0; count < REQUESTS; count++) {
    const started = performance.now();
    const response = await fetch(operatorUrl + path, { headers });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${path} responded with ${response.status}`);
    times.push(performance.now() - started);
  }
  print(path + note, times);
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
    for (let count = 0; count < PAGE_LOADS; count++) {
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
const common = {
  DATA_DIR: dir,
  CRM_OAUTH_ENABLED: 'true',
  CRM_OAUTH_CLIENT_ID: 'client',
  CRM_OAUTH_CLIENT_SECRET: 'secret',
  CRM_OAUTH_TOKEN_URL: 'http://127.0.0.1:9/oauth/token',
  CRM_OAUTH_ENCRYPTION_KEY: KEYS.map((key) => key.toString('hex')).join(','),
};
try {
  if (options.engine !== 'postgres')
    await run('SQLite', { engine: 'sqlite', file: join(dir, 'footbridge.sqlite') }, common);
  if (options.engine !== 'sqlite') {
    const postgres = await startPostgres();
    try {
      const url = await postgres.createDatabase();
      await run('PostgreSQL', { engine: 'postgres', url }, { ...common, DATABASE_URL: url });
    } finally {
      await postgres.stop();
    }
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
