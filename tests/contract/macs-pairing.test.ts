import { describe, expect, it } from 'vitest';

import { dumpFiles } from './dump-files.ts';
import { bridges } from './test-bridge.ts';

const start = bridges();
const LOCATION = 'loc1';

async function open() {
  const bridge = await start({ oauth: 'off' });
  const license = await bridge.createLicense(2);
  const assign = () => bridge.operator('PUT', `/operator/locations/${LOCATION}`, { licenseId: license.id });
  const createCode = () => bridge.operator('POST', `/operator/locations/${LOCATION}/pairing-codes`);
  const newCode = async () => String((await createCode()).body['code']);
  const pair = async (code: unknown, deviceId = 'mac-0001') => {
    const response = await fetch(`${bridge.url}/mac/pair`, {
      method: 'POST',
      body: JSON.stringify({ code, deviceId, name: 'Test Mac', osVersion: '26.1', appVersion: '1' }),
    });
    const body = (await response.json()) as Record<string, unknown>;
    return { status: response.status, headers: response.headers, body };
  };
  return { bridge, license, assign, createCode, newCode, pair };
}

describe('pairing', () => {
  it('M12 a code with the address of the service is exchanged for a token and the location', async () => {
    const { bridge, license, assign, createCode, pair } = await open();
    await assign();
    const created = await createCode();
    expect(created).toEqual({
      status: 201,
      body: {
        locationId: LOCATION,
        licenseId: license.id,
        license: 'Test',
        code: expect.stringMatching(/^[0-9A-Z]{4}-[0-9A-Z]{4}@/),
        expiresAt: expect.stringMatching(/Z$/),
      },
    });
    const expiresIn = Date.parse(String(created.body['expiresAt'])) - bridge.clock.now();
    expect(expiresIn).toBeLessThanOrEqual(15 * 60_000);
    const code = String(created.body['code']);
    expect(code.split('@')[1]).toBe(bridge.url);
    const paired = await pair(code.toLowerCase());
    expect(paired).toMatchObject({
      status: 201,
      body: { locationId: LOCATION, seats: { used: 1, max: 2 }, deviceToken: expect.any(String) },
    });
    const mac = await bridge.connect({ token: String(paired.body['deviceToken']) });
    await mac.register(LOCATION);
    const symbols = code.slice(0, 9);
    for (const kept of [await dumpFiles(bridge.dataDir), bridge.log]) {
      expect(kept).not.toContain(symbols);
      expect(kept).not.toContain(symbols.replace('-', ''));
      expect(kept).not.toContain(paired.body['deviceToken']);
    }
  });

  it('M12 wrong, used and expired codes have separate error codes, and a new code works', async () => {
    const { bridge, assign, newCode, pair } = await open();
    await assign();
    const wrong = await pair('0000-0000');
    expect(wrong).toMatchObject({ status: 403, body: { code: 'PAIRING_CODE_INVALID' } });
    expect((await pair('not a code')).body).toEqual(wrong.body);
    const code = await newCode();
    expect((await pair(code)).status).toBe(201);
    expect(await pair(code)).toMatchObject({ status: 403, body: { code: 'PAIRING_CODE_USED' } });
    const late = await newCode();
    bridge.clock.freeze(15 * 60_000);
    expect(await pair(late)).toMatchObject({ status: 403, body: { code: 'PAIRING_CODE_EXPIRED' } });
    expect(await pair(await newCode())).toMatchObject({ status: 200, body: { seats: { used: 1 } } });
    expect(await pair('')).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
  });

  it('M12 thirty wrong codes lock an address out, even for valid codes', async () => {
    const { assign, newCode, pair } = await open();
    await assign();
    const code = await newCode();
    for (let tries = 0; tries < 30; tries++) expect((await pair('0000-0000')).status).toBe(403);
    const locked = await pair(code);
    expect(locked).toMatchObject({ status: 429, body: { code: 'TOO_MANY_REQUESTS' } });
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(30);
  });

  it('M12 a location without a license gets no code, and a suspended license no Mac', async () => {
    const { bridge, license, assign, createCode, newCode, pair } = await open();
    expect(await createCode()).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', message: expect.stringContaining('footbridge location assign') },
    });
    await assign();
    const code = await newCode();
    const setStatus = (status: string) =>
      bridge.operator('PATCH', `/operator/licenses/${license.id}`, { status });
    await setStatus('suspended');
    expect((await pair(code)).body).toMatchObject({ code: 'LICENSE_SUSPENDED' });
    await setStatus('active');
    expect((await pair(code)).status).toBe(201);
  });
});
