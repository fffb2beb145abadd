import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';

import { activate, connectMac } from '@footbridge/testkit/mac';
import { undoList } from '@footbridge/testkit/undo';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { startBridge } from '../bridge.ts';
import type { RunningBridge } from '../bridge.ts';

const undo = undoList();
afterEach(() => undo.run());

const fixture = (name: string) =>
  readFileSync(join(import.meta.dirname, '../../packages/media/src/fixtures', name));

interface House {
  bridge: RunningBridge;
  token: string;
  upload: (
    bytes: Uint8Array<ArrayBuffer> | string,
    headers?: Record<string, string>,
  ) => Promise<{ status: number; body: { url: string; code?: string } }>;
  operator: (path: string) => Promise<unknown>;
}

async function house(env: Record<string, string> = {}): Promise<House> {
  const bridge = await startBridge(env);
  undo.add(() => bridge.stop());
  const headers = { Authorization: `Bearer ${bridge.operatorToken}`, 'Content-Type': 'application/json' };
  const made = await fetch(`${bridge.operatorUrl}/operator/licenses`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ label: 'test', maxSeats: 5 }),
  });
  const { key } = (await made.json()) as { key: string };
  const { deviceToken = '' } = await activate(bridge.url, { licenseKey: key });
  const mac = await connectMac(bridge.url, { token: deviceToken });
  undo.add(() => mac.close());
  await mac.register('loc1');
  return {
    bridge,
    token: deviceToken,
    async upload(bytes, more = {}) {
      const answer = await fetch(`${bridge.url}/mac/assets`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${deviceToken}`,
          'Content-Type': 'application/octet-stream',
          ...more,
        },
        body: bytes,
      });
      return { status: answer.status, body: (await answer.json()) as { url: string } };
    },
    operator: async (path) => (await fetch(bridge.operatorUrl + path, { headers })).json(),
  };
}

/** Announces a file, sends one byte of it and waits: for a status, or for the end of the connection. */
function announce(url: string, token: string, bytes: number): Promise<number | 'cut'> {
  return new Promise((resolve) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Length': bytes };
    const call = request(`${url}/mac/assets`, { method: 'POST', headers, agent: false });
    undo.add(() => call.destroy());
    call.on('response', (answer) => resolve(answer.resume().statusCode ?? 0));
    call.on('error', () => resolve('cut'));
    call.write('x');
  });
}

describe('attachments', () => {
  it('I8 a picture that browsers show keeps its bytes and gets an address', async () => {
    const { upload } = await house();
    const png = fixture('pattern.png');
    const { status, body } = await upload(png, { 'X-File-Name': 'holiday.png' });
    expect(status).toBe(201);
    expect(body.url).toMatch(/\/assets\/[\w-]{32}\/holiday\.png$/);
    const answer = await fetch(body.url);
    expect(answer.headers.get('content-type')).toBe('image/png');
    expect(Buffer.from(await answer.arrayBuffer()).equals(png)).toBe(true);
  });

  it('I8 HEIC becomes a web format, whatever it is called', { timeout: 60_000 }, async () => {
    const { upload, operator } = await house();
    const { body } = await upload(fixture('cutout.heic'), {
      'X-File-Name': 'sticker.heic',
      'Content-Type': 'image/heic',
    });
    const answer = await fetch(body.url);
    expect(answer.headers.get('content-type')).toBe('image/png');
    expect(body.url).toMatch(/sticker\.png$/);
    // The original is kept beside it.
    expect(await operator('/operator/assets')).toMatchObject({ count: 2 });
  });

  it('I8 what cannot be converted is delivered as it came', { timeout: 60_000 }, async () => {
    const { upload } = await house();
    const broken = fixture('cutout.heic').subarray(0, 600);
    const { status, body } = await upload(broken, { 'X-File-Name': 'broken.heic' });
    expect(status).toBe(201);
    expect(Buffer.from(await (await fetch(body.url)).arrayBuffer()).equals(broken)).toBe(true);
  });

  it('no browser runs what is served', async () => {
    const { upload } = await house();
    for (const hostile of [
      '<html><script>alert(1)</script></html>',
      '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    ]) {
      const { body } = await upload(hostile, { 'X-File-Name': 'nice.png', 'Content-Type': 'image/png' });
      const answer = await fetch(body.url);
      expect(answer.headers.get('content-type')).toBe('application/octet-stream');
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      expect(answer.headers.get('content-disposition')).toMatch(/^attachment/);
      expect(answer.headers.get('content-security-policy')).toContain('sandbox');
      await answer.arrayBuffer();
    }
  });

  it('ranges, HEAD, ETag', async () => {
    const { upload } = await house();
    const png = fixture('pattern.png');
    const { url } = (await upload(png)).body;
    const part = await fetch(url, { headers: { Range: 'bytes=4-7' } });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 4-7/${png.length}`]);
    expect(Buffer.from(await part.arrayBuffer()).equals(png.subarray(4, 8))).toBe(true);
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(png.length)]);
    const again = await fetch(url, { headers: { 'If-None-Match': head.headers.get('etag') ?? '' } });
    expect(again.status).toBe(304);
    expect((await fetch(url, { headers: { Range: 'bytes=999999-' } })).status).toBe(416);
  });

  it('nobody stores without a token, and nothing without a location', async () => {
    const { bridge, upload } = await house();
    expect((await upload('x', { Authorization: 'Bearer wrong' })).status).toBe(401);
    const headers = { Authorization: `Bearer ${bridge.operatorToken}`, 'Content-Type': 'application/json' };
    const made = await fetch(`${bridge.operatorUrl}/operator/licenses`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ label: 'other', maxSeats: 1 }),
    });
    const { key } = (await made.json()) as { key: string };
    const { deviceToken } = await activate(bridge.url, { licenseKey: key });
    expect((await upload('x', { Authorization: `Bearer ${deviceToken}` })).status).toBe(409);
  });

  it('a location has a quota, and a refused file leaves nothing', async () => {
    const { upload, operator } = await house({ ASSET_QUOTA_MB: '1' });
    expect((await upload(Buffer.alloc(600_000, 1))).status).toBe(201);
    expect(await upload(Buffer.alloc(600_000, 1))).toMatchObject({
      status: 507,
      body: { code: 'INSUFFICIENT_STORAGE' },
    });
    expect(await operator('/operator/assets?locationId=loc1')).toEqual({ count: 1, bytes: 600_000 });
  });

  it('the quota also holds for files that come at the same time', async () => {
    const { upload, operator } = await house({ ASSET_QUOTA_MB: '1' });
    const statuses = await Promise.all(
      Array.from({ length: 6 }, async () => (await upload(Buffer.alloc(300_000, 1))).status),
    );
    const stored = statuses.filter((status) => status === 201).length;
    expect(statuses.filter((status) => status === 507)).toHaveLength(6 - stored);
    expect(stored).toBeGreaterThan(0);
    expect(stored).toBeLessThanOrEqual(3);
    expect(await operator('/operator/assets')).toEqual({ count: stored, bytes: stored * 300_000 });
    // What was refused is not held against the location.
    expect((await upload(Buffer.alloc(50_000, 1))).status).toBe(201);
  });

  it('a file that is announced as too large is refused before it is sent', async () => {
    const { bridge, token } = await house();
    expect(await announce(bridge.url, token, 100_000_001)).toBe(413);
  });

  it(
    'a file that is too large gets its answer, also when the Mac sends all of it',
    { timeout: 60_000 },
    async () => {
      const { upload } = await house();
      const file = Buffer.alloc(101_000_000);
      for (let time = 0; time < 6; time++)
        expect(await upload(file)).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } });
    },
  );

  it('an upload that stands still is broken off and leaves nothing', { timeout: 30_000 }, async () => {
    const { bridge, token, operator } = await house();
    expect(await announce(bridge.url, token, 1000)).toBe('cut');
    expect(await operator('/operator/assets')).toEqual({ count: 0, bytes: 0 });
    // The file goes a moment after the connection.
    await until(() => readdirSync(join(bridge.dataDir, 'assets/incoming')).length === 0);
  });

  it('one location cannot take all the room for requests', async () => {
    const { bridge, token, upload } = await house();
    const idle = Array.from({ length: 51 }, () => announce(bridge.url, token, 1000));
    expect(await Promise.race(idle)).toBe(429);
    expect((await upload('x')).status).toBe(429);
  });

  it('an id that is guessed, expired or odd is not found', async () => {
    const { bridge } = await house();
    for (const path of [
      '/assets/x/y',
      `/assets/${'a'.repeat(32)}/y.png`,
      '/assets/../operator/keys',
      `/assets/${'%2e'.repeat(16)}/y`,
    ])
      expect((await fetch(bridge.url + path)).status).toBe(404);
  });
});
