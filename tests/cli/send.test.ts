import { generateKeyPairSync } from 'node:crypto';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { bridges, LOCATION, PHONE } from '../contract/test-bridge.ts';
import type { TestBridge } from '../contract/test-bridge.ts';
import { jsonLines, runInProcess } from './run-in-process.ts';

const BIN = join(import.meta.dirname, '../../packages/cli/bin/footbridge');
const cleanup = createCleanup();
afterEach(() => cleanup.run());
const use = bridges();

const envOf = ({ bridge }: TestBridge) => ({
  FOOTBRIDGE_OPERATOR_URL: bridge.operatorUrl,
  OPERATOR_TOKEN: bridge.operatorToken,
});
const SEND = ['send', '--to', PHONE, '--location', LOCATION];
const keysOf = async (bridge: TestBridge) => (await bridge.operator('GET', '/operator/keys')).body['keys'];

describe('footbridge send', () => {
  it('sends a signed text, prints each step and removes its key', async () => {
    const bridge = await use();
    const mac = await bridge.mac();
    const before = await keysOf(bridge);
    const sending = runInProcess([...SEND, 'canary text', '--wait'], { env: envOf(bridge) });
    const frame = await mac.nextFrame('send');
    expect(frame).toMatchObject({ phone: PHONE, message: 'canary text', messageId: null });
    await mac.ack(mac.status({ requestId: frame.requestId, messageId: null, status: 'delivered' }));
    const { code, stdout, stderr } = await sending;
    expect(code).toBe(0);
    const printed = jsonLines(stdout);
    expect(printed[0]).toMatchObject({ requestId: frame.requestId, locationId: LOCATION });
    expect(printed.map(({ step }) => step).filter(Boolean)).toEqual(
      expect.arrayContaining(['accepted', 'written', 'mac_reported']),
    );
    expect(printed.at(-1)).toMatchObject({ outcome: 'delivered', sentence: 'Delivered.' });
    expect(stdout + stderr).not.toContain('canary');
    expect(await keysOf(bridge)).toEqual(before);
  });

  it('T1 sends the same text again when asked again', async () => {
    const bridge = await use({ env: { REPLAY_MEMORY: 'on' } });
    const mac = await bridge.mac();
    for (const time of ['first', 'second']) {
      expect((await runInProcess([...SEND, 'Hi'], { env: envOf(bridge) })).code, time).toBe(0);
      expect(await mac.nextFrame('send'), time).toMatchObject({ message: 'Hi' });
    }
  });

  it('exits with a distinct code when the text fails, when no Mac is connected, and when the wait times out', async () => {
    const bridge = await use();
    const env = envOf(bridge);
    expect(await runInProcess([...SEND, 'Hi'], { env })).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('footbridge explain LOCATION_NOT_CONNECTED'),
    });
    const mac = await bridge.mac();
    const failing = runInProcess([...SEND, '-', '--wait'], { env, input: 'Hi\n' });
    const { requestId, message } = await mac.nextFrame('send');
    expect(message).toBe('Hi');
    const error = { code: 'TIMEOUT', message: 'Too slow.' };
    await mac.ack(mac.status({ requestId, messageId: null, status: 'failed', error }));
    expect(await failing).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('Not delivered: failed with TIMEOUT.'),
    });
    expect(await runInProcess([...SEND, 'Hi', '--wait', '0.1'], { env })).toMatchObject({
      code: 8,
      stderr: expect.stringContaining('the outcome is not known'),
    });
    expect((await runInProcess([...SEND, '-'], { env })).code).toBe(2);
    const unreachable = ['--webhook', 'http://127.0.0.1:1/crm/webhook'];
    expect((await runInProcess([...SEND, 'Hi', ...unreachable], { env })).code).toBe(7);
  });

  it('removes its key when the user presses Ctrl-C', async () => {
    const bridge = await use();
    const before = await keysOf(bridge);
    // A webhook that never responds.
    const requests: unknown[] = [];
    const silent = createServer((request) => void requests.push(request));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    cleanup.add(() => {
      silent.closeAllConnections();
      silent.close();
    });
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
    const child = spawn(BIN, [...SEND, 'Hi', '--webhook', url, '--timeout', '600'], {
      env: { ...process.env, ...envOf(bridge) },
    });
    const ended = new Promise((resolve) => child.once('close', (code) => resolve(code)));
    await until(() => requests.length > 0);
    expect(await keysOf(bridge)).not.toEqual(before);
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(await keysOf(bridge)).toEqual(before);
  });
});

describe('footbridge find', () => {
  it('finds the messages of a person', async () => {
    const bridge = await use();
    const env = envOf(bridge);
    await bridge.mac();
    const { answer } = await bridge.webhook({ messageId: 'found', message: 'canary text' });
    await bridge.journalled((answer as { requestId: string }).requestId, 'written');
    const find = (...args: string[]) => runInProcess(['find', ...args], { env });
    const { code, stdout } = await find('--phone', '+1 (415) 555-0100', '--dir', 'out', '--since', '1d');
    expect(code).toBe(0);
    expect(jsonLines(stdout)).toEqual(
      expect.arrayContaining([expect.objectContaining({ messageId: 'found' })]),
    );
    expect(stdout).not.toContain('canary');
    expect(stdout).not.toContain(PHONE);
    expect((await find('--phone', '+14155559999')).stdout).toBe('');
    expect((await find()).code).toBe(2);
    const text = await runInProcess(['find', '--phone', PHONE], { env, isTTY: true });
    expect(text.stdout).toMatch(/LOCATION +MESSAGE +KIND +STATUS/);
  });
});

describe('footbridge sign and verify', () => {
  it('S2 verifies what it signed, and names the failing step of what was changed', async () => {
    const folder = await tempDir(cleanup);
    const { publicKey, privateKey } = generateKeyPairSync('ed25519', {
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    const file = (name: string, content: string) => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const body = file('body', '{"locationId":"loc1"}');
    const secret = file('private.pem', privateKey);
    const open = file('public.pem', publicKey);
    const signed = await runInProcess(['sign', '--key-file', secret, '--body', body, '--header', 'X-Acme']);
    const { headers } = JSON.parse(signed.stdout) as { headers: Record<string, string> };
    const signature = headers['X-Acme'] ?? '';
    expect(headers).toEqual({ 'Content-Type': 'application/json', 'X-Acme': signature });
    const verify = (of: string) =>
      runInProcess(['verify', '--body', of, '--signature', signature, '--key-file', open]);
    expect(await verify(body)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"step":"verified"'),
    });
    const changed = file('changed', '{ "locationId": "loc1" }');
    expect(await verify(changed)).toMatchObject({
      code: 4,
      stdout: expect.stringContaining('"step":"body"'),
    });
    const wrong = await runInProcess(['sign', '--key-file', open, '--body', body]);
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('not a private key') });
  });
});

describe('footbridge open', () => {
  it('prints a sign-in link where there is no terminal', async () => {
    const bridge = await use();
    const { code, stdout } = await runInProcess(['open'], { env: envOf(bridge) });
    expect([code, jsonLines(stdout)]).toEqual([
      0,
      [expect.objectContaining({ url: expect.stringContaining('/console#code=') })],
    ]);
  });
});

describe('footbridge explain', () => {
  it.each([
    ['404', ['NOT_FOUND', 'LOCATION_NOT_CONNECTED']],
    ['429', ['TOO_MANY_REQUESTS']],
  ])('V2 lists the codes of HTTP status %s', async (status, codes) => {
    const { code, stdout } = await runInProcess(['explain', status]);
    expect(code).toBe(0);
    expect(jsonLines(stdout).map((entry) => entry['code'])).toEqual(expect.arrayContaining(codes));
  });

  it.each([
    ['200', { channel: 'http', name: 'OK' }],
    ['418', { channel: 'http', meaning: expect.stringContaining('another program') }],
    ['4501', { channel: 'close', name: 'displaced' }],
    ['1006', { channel: 'close', name: 'abnormal closure' }],
    ['4777', { channel: 'close', name: 'stay away' }],
    ['4100', { channel: 'close', name: 'come back' }],
  ])('V2 explains %s', async (number, expected) => {
    const { stdout } = await runInProcess(['explain', number]);
    expect(jsonLines(stdout)).toMatchObject([expected]);
  });

  it('suggests the nearest code, and rejects a number without a meaning', async () => {
    expect((await runInProcess(['explain', 'RATE_LIMTED'])).stderr).toContain(
      'footbridge explain RATE_LIMITED',
    );
    expect((await runInProcess(['explain', '777'])).code).toBe(5);
  });
});
