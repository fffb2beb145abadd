import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';

import type { Clock } from '@footbridge/runtime/clock';
import { activate, connectMac } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { startBridge } from '../bridge.ts';
import type { RunningBridge } from '../bridge.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const fixture = (name: string) =>
  readFileSync(join(import.meta.dirname, '../../packages/media/src/fixtures', name));

interface Started {
  bridge: RunningBridge;
  token: string;
  mac: Mac;
  upload: (
    bytes: Uint8Array<ArrayBuffer> | string,
    headers?: Record<string, string>,
  ) => Promise<{ status: number; body: { url: string; code?: string } }>;
  operator: (path: string) => Promise<unknown>;
}

async function start(env: Record<string, string> = {}, maxSeats = 5, clock?: Clock): Promise<Started> {
  const bridge = await startBridge(env, { clock });
  cleanup.add(() => bridge.stop());
  const headers = { Authorization: `Bearer ${bridge.operatorToken}`, 'Content-Type': 'application/json' };
  const made = await fetch(`${bridge.operatorUrl}/operator/licenses`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ label: 'test', maxSeats }),
  });
  const { key } = (await made.json()) as { key: string };
  const { deviceToken = '' } = await activate(bridge.url, { licenseKey: key });
  const mac = await connectMac(bridge.url, { token: deviceToken });
  cleanup.add(() => mac.close());
  await mac.register('loc1');
  return {
    bridge,
    token: deviceToken,
    mac,
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

/** Announces a file and sends its first bytes. Resolves with the status, or when the connection ends. */
function announce(url: string, token: string, bytes: number, sent = 1): Promise<number | 'cut'> {
  return new Promise((resolve) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Length': bytes };
    const call = request(`${url}/mac/assets`, { method: 'POST', headers, agent: false });
    cleanup.add(() => call.destroy());
    call.on('response', (answer) => resolve(answer.resume().statusCode ?? 0));
    call.on('error', () => resolve('cut'));
    call.write('x'.repeat(sent));
  });
}

describe('attachments', () => {
  it('I8 serves an image that browsers show unchanged', async () => {
    const { upload } = await start();
    const png = fixture('pattern.png');
    const { status, body } = await upload(png, { 'X-File-Name': 'holiday.png' });
    expect(status).toBe(201);
    expect(body.url).toMatch(/\/assets\/[\w-]{32}\/holiday\.png$/);
    const answer = await fetch(body.url);
    expect(answer.headers.get('content-type')).toBe('image/png');
    expect(Buffer.from(await answer.arrayBuffer()).equals(png)).toBe(true);
  });

  it('I8 does not let a browser cache that a file is missing', async () => {
    const { bridge, upload } = await start();
    const { body } = await upload(fixture('pattern.png'), { 'X-File-Name': 'holiday.png' });
    rmSync(join(bridge.dataDir, 'assets'), { recursive: true });
    for (const headers of [{}, { Range: 'bytes=0-9' }]) {
      const missing = await fetch(body.url, { headers });
      expect(missing.status).toBe(404);
      for (const name of ['cache-control', 'etag', 'content-range', 'content-disposition'])
        expect([name, missing.headers.get(name)]).toEqual([name, null]);
    }
  });

  it('I8 converts HEIC to PNG', async () => {
    const { upload, operator } = await start();
    const { body } = await upload(fixture('cutout.heic'), {
      'X-File-Name': 'sticker.heic',
      'Content-Type': 'image/heic',
    });
    const answer = await fetch(body.url);
    expect(answer.headers.get('content-type')).toBe('image/png');
    expect(body.url).toMatch(/sticker\.png$/);
    // The original is kept too.
    expect(await operator('/operator/assets')).toMatchObject({ count: 2 });
  });

  it('I8 serves WebP unchanged', async () => {
    const { upload, operator } = await start();
    const webp = fixture('animation.webp');
    const { body } = await upload(webp, { 'X-File-Name': 'party.webp' });
    expect(body.url).toMatch(/party\.webp$/);
    const answer = await fetch(body.url);
    expect(answer.headers.get('content-type')).toBe('image/webp');
    expect(Buffer.from(await answer.arrayBuffer()).equals(webp)).toBe(true);
    expect(await operator('/operator/assets')).toMatchObject({ count: 1 });
  });

  it.each([
    ['voice_opus.caf', 'audio/mpeg', 'mp3'],
    ['voice_aac.caf', 'audio/mp4', 'm4a'],
    ['voice.amr', 'audio/mpeg', 'mp3'],
  ])('I8 converts the voice message %s to %s', async (name, type, extension) => {
    const { upload } = await start();
    const { body } = await upload(fixture(name), { 'X-File-Name': 'Audio Message.caf' });
    expect(body.url).toMatch(new RegExp(`Audio%20Message\\.${extension}$`));
    const answer = await fetch(body.url);
    expect(answer.headers.get('content-type')).toBe(type);
    await answer.arrayBuffer();
  });

  it('I8 serves HEIC unconverted when MEDIA_HEIC is off', async () => {
    const { upload } = await start({ MEDIA_HEIC: 'off' });
    const heic = fixture('cutout.heic');
    const { body } = await upload(heic, { 'X-File-Name': 'sticker.heic' });
    expect(body.url).toMatch(/sticker\.heic$/);
    const answer = await fetch(body.url);
    expect(answer.headers.get('content-type')).toBe('image/heic');
    expect(Buffer.from(await answer.arrayBuffer()).equals(heic)).toBe(true);
  });

  it('I8 serves a file that cannot be converted unchanged', async () => {
    const { upload } = await start();
    const broken = fixture('cutout.heic').subarray(0, 600);
    const { status, body } = await upload(broken, { 'X-File-Name': 'broken.heic' });
    expect(status).toBe(201);
    expect(Buffer.from(await (await fetch(body.url)).arrayBuffer()).equals(broken)).toBe(true);
  });

  it('I8 serves markup as an opaque attachment', async () => {
    const { upload } = await start();
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

  it('I8 supports ranges, HEAD and ETag', async () => {
    const { upload } = await start();
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

  it('rejects an upload without a valid token, and from a Mac without a location', async () => {
    const { bridge, upload } = await start();
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

  it('enforces the quota of a location and keeps nothing of a refused file', async () => {
    const { upload, operator } = await start({ ASSET_QUOTA_MB: '1' });
    expect((await upload(Buffer.alloc(600_000, 1))).status).toBe(201);
    expect(await upload(Buffer.alloc(600_000, 1))).toMatchObject({
      status: 507,
      body: { code: 'INSUFFICIENT_STORAGE' },
    });
    expect(await operator('/operator/assets?locationId=loc1')).toEqual({ count: 1, bytes: 600_000 });
  });

  it('enforces the quota over concurrent uploads', async () => {
    const { upload, operator } = await start({ ASSET_QUOTA_MB: '1' });
    const statuses = await Promise.all(
      Array.from({ length: 6 }, async () => (await upload(Buffer.alloc(300_000, 1))).status),
    );
    const stored = statuses.filter((status) => status === 201).length;
    expect(statuses.filter((status) => status === 507)).toHaveLength(6 - stored);
    expect(stored).toBeGreaterThan(0);
    expect(stored).toBeLessThanOrEqual(3);
    expect(await operator('/operator/assets')).toEqual({ count: stored, bytes: stored * 300_000 });
    // A refused upload does not count.
    expect((await upload(Buffer.alloc(50_000, 1))).status).toBe(201);
  });

  /** Connects the Mac for another location. */
  async function move({ bridge, token, mac, operator }: Started, locationId: string): Promise<Mac> {
    mac.terminate();
    const next = await connectMac(bridge.url, { token });
    cleanup.add(() => next.close());
    await next.register(locationId);
    await until(async () => {
      const { locations } = (await operator('/operator/locations')) as {
        locations: { locationId: string; connected: unknown }[];
      };
      return locations.every(
        (location) => (location.connected !== null) === (location.locationId === locationId),
      );
    });
    return next;
  }

  it('T53 enforces the quota of a license over all locations that its Macs serve', async () => {
    const started = await start({ ASSET_QUOTA_MB: '1', ASSET_QUOTA_SEAT_MB: '1' }, 2);
    const { upload, operator } = started;
    const { licenses } = (await operator('/operator/licenses')) as { licenses: { id: string }[] };
    const ofLicense = () => operator(`/operator/assets?licenseId=${licenses[0]?.id}`);
    expect((await upload(Buffer.alloc(900_000, 1))).status).toBe(201);
    const mac = await move(started, 'loc2');
    expect((await upload(Buffer.alloc(900_000, 1))).status).toBe(201);
    await move({ ...started, mac }, 'loc3');
    const { status, body } = await upload(Buffer.alloc(900_000, 1));
    expect([status, body]).toMatchObject([507, { code: 'INSUFFICIENT_STORAGE' }]);
    expect(body).toMatchObject({ message: expect.stringContaining('ASSET_QUOTA_SEAT_MB') });
    expect(await ofLicense()).toEqual({ count: 2, bytes: 1_800_000 });
    // What fits is stored, and a refused file does not count.
    expect((await upload(Buffer.alloc(100_000, 1))).status).toBe(201);
    expect(await ofLicense()).toEqual({ count: 3, bytes: 1_900_000 });
    expect(await operator('/operator/assets?locationId=loc3')).toEqual({ count: 1, bytes: 100_000 });
    expect(await operator('/operator/assets?licenseId=lic_none')).toEqual({ count: 0, bytes: 0 });
  });

  it('T53 enforces the quota of a license over concurrent uploads', async () => {
    const { upload, operator } = await start({ ASSET_QUOTA_SEAT_MB: '1' }, 1);
    const statuses = await Promise.all(
      Array.from({ length: 6 }, async () => (await upload(Buffer.alloc(300_000, 1))).status),
    );
    const stored = statuses.filter((status) => status === 201).length;
    expect(statuses.filter((status) => status === 507)).toHaveLength(6 - stored);
    expect(stored).toBeGreaterThan(0);
    expect(stored).toBeLessThanOrEqual(3);
    expect(await operator('/operator/assets')).toEqual({ count: stored, bytes: stored * 300_000 });
  });

  it('T53 counts converted files towards the quota, also while another upload is in progress', async () => {
    const { bridge, token, upload, operator } = await start({ ASSET_QUOTA_MB: '1' });
    void announce(bridge.url, token, 100_000);
    await until(() => readdirSync(join(bridge.dataDir, 'assets/incoming')).length === 1);
    // 100 s of silence in AMR take 5 kB, and as MP3 300 kB.
    const silence = Buffer.concat([Buffer.from('#!AMR\n'), Buffer.alloc(5000, 0x7c)]);
    for (let file = 0; file < 8; file++) expect((await upload(silence)).status).toBe(201);
    const { bytes } = (await operator('/operator/assets')) as { bytes: number };
    expect(bytes).toBeGreaterThan(20 * silence.length);
    expect(bytes).toBeLessThanOrEqual(1_000_000);
  });

  it('T53 counts the overhead of each file, so that many small files do not fill the disk', async () => {
    const { upload, operator } = await start({ ASSET_QUOTA_MB: '1' });
    const statuses = new Set<number>();
    for (let round = 0; round < 60 && !statuses.has(507); round++)
      for (const { status } of await Promise.all(Array.from({ length: 5 }, () => upload('x'))))
        statuses.add(status);
    expect(statuses).toEqual(new Set([201, 507]));
    const { count } = (await operator('/operator/assets')) as { count: number };
    expect(count).toBeLessThan(260);
  });

  it('T52 limits the uploads of a Mac without a location, because each lookup asks all nodes', async () => {
    const { bridge, upload } = await start();
    const created = await fetch(`${bridge.operatorUrl}/operator/licenses`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${bridge.operatorToken}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ label: 'other', maxSeats: 1 }),
    });
    const { key } = (await created.json()) as { key: string };
    const { deviceToken } = await activate(bridge.url, { licenseKey: key });
    const statuses = new Set<number>();
    for (let round = 0; round < 150 && !statuses.has(429); round++)
      for (const { status } of await Promise.all(
        Array.from({ length: 5 }, () => upload('x', { Authorization: `Bearer ${deviceToken}` })),
      ))
        statuses.add(status);
    expect(statuses).toEqual(new Set([409, 429]));
  });

  it('rejects a file that is announced as too large before it is sent', async () => {
    const { bridge, token } = await start();
    expect(await announce(bridge.url, token, 100_000_001)).toBe(413);
  });

  it('responds 413 to a file that is too large, also when the Mac sends all of it', async () => {
    const { upload } = await start();
    const file = Buffer.alloc(101_000_000);
    for (let time = 0; time < 6; time++)
      expect(await upload(file)).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } });
  });

  it('aborts an upload that stalls for 10 seconds and keeps nothing of it', async () => {
    const clock = new SkippingClock();
    const { bridge, token, operator } = await start({}, 5, clock);
    const incoming = () => readdirSync(join(bridge.dataDir, 'assets/incoming')).length;
    let outcome: number | 'cut' | undefined;
    void announce(bridge.url, token, 1_000_000, 100_000).then((end) => (outcome = end));
    await until(() => incoming() === 1);
    await clock.skip(9000);
    await operator('/operator/assets');
    expect(outcome).toBeUndefined();
    await clock.skip(3000);
    await until(() => outcome === 'cut');
    expect(await operator('/operator/assets')).toEqual({ count: 0, bytes: 0 });
    // The file is removed a moment after the connection ends.
    await until(() => incoming() === 0);
  });

  it('limits the concurrent uploads of a location', async () => {
    const { bridge, token, upload } = await start();
    const idle = Array.from({ length: 51 }, () => announce(bridge.url, token, 1000));
    expect(await Promise.race(idle)).toBe(429);
    expect((await upload('x')).status).toBe(429);
  });

  it('responds 404 to an unknown or malformed id', async () => {
    const { bridge } = await start();
    for (const path of [
      '/assets/x/y',
      `/assets/${'a'.repeat(32)}/y.png`,
      '/assets/../operator/keys',
      `/assets/${'%2e'.repeat(16)}/y`,
    ])
      expect((await fetch(bridge.url + path)).status).toBe(404);
  });
});
