import { execFile } from 'node:child_process';

import { activate } from '@footbridge/testkit/mac';
import { expect, it } from 'vitest';

import { bridges } from './test-bridge.ts';

const start = bridges();

const MAIN = new URL('../../packages/cli/src/main.ts', import.meta.url).pathname;

interface Ended {
  readonly code: number;
  readonly rows: Record<string, unknown>[];
  readonly errors: string;
}

async function open() {
  const bridge = await start({ oauth: 'off' });
  const env = {
    ...process.env,
    OPERATOR_TOKEN: bridge.bridge.operatorToken,
    FOOTBRIDGE_OPERATOR_URL: bridge.bridge.operatorUrl,
  };
  const footbridge = (...args: string[]) =>
    new Promise<Ended>((resolve) => {
      execFile(process.execPath, [MAIN, ...args, '--json'], { env }, (error, stdout, stderr) => {
        const rows = stdout
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line) as Record<string, unknown>);
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, rows, errors: stderr });
      });
    });
  return { bridge, footbridge };
}

it('M7 `footbridge license` creates, lists, suspends, resumes, sizes and revokes', async () => {
  const { bridge, footbridge } = await open();
  const created = await footbridge('license', 'create', 'Front office', '--seats', '2');
  expect(created).toMatchObject({ code: 0, rows: [{ label: 'Front office', maxSeats: 2 }] });
  const { id, key } = created.rows[0] as { id: string; key: string };
  expect(await activate(bridge.url, { licenseKey: key })).toMatchObject({ status: 201 });
  const listed = await footbridge('license', 'list');
  expect(listed.rows).toMatchObject([{ id, status: 'active', seats: { used: 1, max: 2 } }]);
  expect(JSON.stringify(listed)).not.toContain(key);
  expect(await footbridge('license', 'suspend', 'Front office')).toMatchObject({
    rows: [{ status: 'suspended' }],
  });
  expect(await footbridge('license', 'resume', key.slice(-5))).toMatchObject({
    rows: [{ status: 'active' }],
  });
  expect(await footbridge('license', 'seats', id, '5')).toMatchObject({ rows: [{ maxSeats: 5 }] });
  expect(await footbridge('license', 'revoke', id)).toMatchObject({
    code: 2,
    errors: expect.stringContaining('--yes'),
  });
  expect(await footbridge('license', 'revoke', id, '--yes')).toMatchObject({
    rows: [{ status: 'revoked' }],
  });
  expect(await footbridge('license', 'resume', id)).toMatchObject({
    code: 1,
    errors: expect.stringContaining('revoked'),
  });
  expect(await footbridge('license', 'suspend', 'unknown')).toMatchObject({ code: 5 });
  expect(await footbridge('license', 'create', 'x', '--seats', 'many')).toMatchObject({ code: 2 });
});

it('M8 `footbridge device` lists, revokes and restores', async () => {
  const { bridge, footbridge } = await open();
  const { key } = await bridge.createLicense();
  const mac = await bridge.connect({ token: await bridge.token('mac-0001', key) });
  await mac.register('loc1');
  expect((await footbridge('device', 'list')).rows).toMatchObject([
    { deviceId: 'mac-0001', connected: true, locations: ['loc1'], status: 'active' },
  ]);
  expect(await footbridge('device', 'revoke', 'mac-0001', '--yes')).toMatchObject({
    rows: [{ status: 'revoked' }],
  });
  expect(await mac.closed).toMatchObject({ code: 4503 });
  expect(await footbridge('device', 'restore', 'mac-0001')).toMatchObject({
    rows: [{ status: 'deactivated' }],
  });
  expect(await footbridge('device', 'revoke', 'mac-9999', '--yes')).toMatchObject({ code: 5 });
});

it('M12 `footbridge device pair` prints a code that pairs one Mac', async () => {
  const { bridge, footbridge } = await open();
  expect(await footbridge('device', 'pair', 'loc1')).toMatchObject({
    code: 1,
    errors: expect.stringContaining('footbridge location assign'),
  });
  await bridge.createLicense();
  await footbridge('location', 'assign', 'loc1', 'Test');
  const { code, rows } = await footbridge('device', 'pair', 'loc1');
  expect([code, rows]).toMatchObject([0, [{ locationId: 'loc1', code: expect.any(String) }]]);
  const response = await fetch(`${bridge.url}/mac/pair`, {
    method: 'POST',
    body: JSON.stringify({ code: rows[0]?.['code'], deviceId: 'mac-0001' }),
  });
  expect(response.status).toBe(201);
});

it('M8 `footbridge location` lists, shows, assigns, disconnects, releases and deletes', async () => {
  const { bridge, footbridge } = await open();
  const { id, key } = await bridge.createLicense();
  expect(await footbridge('location', 'assign', 'loc/1', 'Test')).toMatchObject({
    rows: [{ locationId: 'loc/1', licenseId: id, state: 'bound' }],
  });
  const mac = await bridge.connect({ token: await bridge.token('mac-0001', key) });
  await mac.register('loc/1');
  expect((await footbridge('location', 'list')).rows).toMatchObject([{ connected: { name: 'Test Mac' } }]);
  mac.send({ type: 'state', queue: { pending: 2, oldestSec: 7 } });
  await mac.roundTrip();
  expect((await footbridge('location', 'show', 'loc/1')).rows).toMatchObject([
    { locationId: 'loc/1', connected: { state: { queue: { pending: 2, oldestSec: 7 } } } },
  ]);
  expect(await footbridge('location', 'show', 'nowhere')).toMatchObject({ code: 5 });
  expect(await footbridge('location', 'disconnect', 'loc/1')).toMatchObject({
    rows: [{ wasConnected: true }],
  });
  expect(await mac.closed).toMatchObject({ code: 4000 });
  expect(await footbridge('location', 'release', 'loc/1', '--yes')).toMatchObject({
    rows: [{ state: 'released' }],
  });
  expect(await footbridge('location', 'delete', 'loc/1', '--yes')).toMatchObject({
    rows: [{ locationId: 'loc/1', deleted: true }],
  });
  expect(await footbridge('location', 'delete', 'loc/1', '--yes')).toMatchObject({ code: 5 });
  await footbridge('location', 'assign', 'loc/1', 'Test');
  expect(await footbridge('location', 'delete', 'loc/1', '--yes')).toMatchObject({ code: 1 });
  expect(await footbridge('location', 'delete', 'loc/1', '--in-use', '--yes')).toMatchObject({ code: 0 });
  expect((await footbridge('location', 'list')).rows).toEqual([]);
  expect(await footbridge('location', 'disconnect', 'nowhere')).toMatchObject({ code: 5 });
});
