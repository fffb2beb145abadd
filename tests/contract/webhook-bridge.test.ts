import { connect } from 'node:net';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { ed25519Key, fixedRsaKey, signBody } from '@footbridge/testkit/keys';
import type { SigningKey } from '@footbridge/testkit/keys';
import { afterEach, describe, expect, it } from 'vitest';

import { dumpFiles } from './dump-files.ts';
import { GOOD, LOCATION, TestBridge } from './test-bridge.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** A bridge with the default limits. */
async function start(env: Record<string, string> = {}): Promise<TestBridge> {
  const bridge = await TestBridge.start({ oauth: 'off', env: { RATE_LIMIT_CRM_WEBHOOK: '60', ...env } });
  cleanup.add(() => bridge.stop());
  return bridge;
}

describe('from the webhook to the Mac', () => {
  it('W2 a signed message reaches the socket of its Mac', async () => {
    const bridge = await start();
    expect((await bridge.post(GOOD)).status).toBe(404);
    const mac = await bridge.mac(LOCATION);
    const answer = await bridge.post(GOOD);
    expect(answer.status).toBe(200);
    const requestId = answer.json?.['requestId'];
    expect(await mac.nextFrame('send')).toEqual({
      type: 'send',
      requestId,
      messageId: 'message-1',
      contactId: 'contact1',
      phone: '+14155550100',
      message: 'Hello',
      attachments: [],
      channel: 'imessage',
    });
  });

  it('W10 the operator finds the message, its key and its user in the journal', async () => {
    const bridge = await start();
    await bridge.mac(LOCATION);
    const { json } = await bridge.post({ ...GOOD, userId: 'user-7' });
    const trail = await bridge.journalled(json?.['requestId'], 'written');
    expect(JSON.stringify(trail)).toContain('user-7');
    expect(JSON.stringify(trail)).toContain('CRM_PUBLIC_KEY');
    expect(JSON.stringify(trail)).not.toMatch(/Hello|4155550100/);
  });

  it('W10 userId is in the log line of its request, whatever the outcome', async () => {
    const bridge = await start();
    const logged = async (body: object) => {
      const { headers } = await bridge.post(body);
      const requestId = headers.get('x-request-id');
      return bridge.bridge.logs
        .map((line) => JSON.parse(line))
        .filter((line) => line.requestId === requestId && line.event === 'webhook.handled');
    };
    const line = { event: 'webhook.handled', level: 'info', locationId: LOCATION, messageId: 'message-1' };
    const body = { ...GOOD, userId: 'us\u001ber-7' };
    expect(await logged(body)).toMatchObject([{ ...line, userId: 'user-7', code: 'LOCATION_NOT_CONNECTED' }]);
    await bridge.mac(LOCATION);
    const [sent, ...others] = await logged(body);
    expect([sent, others]).toMatchObject([{ ...line, userId: 'user-7' }, []]);
    expect(sent).not.toHaveProperty('code');
    expect(await logged({ ...body, phone: 'x' })).toMatchObject([
      { ...line, userId: 'user-7', code: 'RECIPIENT_PHONE_INVALID' },
    ]);
    expect((await logged(GOOD))[0]).not.toHaveProperty('userId');
    expect(bridge.bridge.logs.join()).not.toMatch(/Hello|4155550100/);
  });

  it('W9 CRM_ACCEPTED_TYPES adds the type of an added channel, and nothing else', async () => {
    const bridge = await start({ CRM_ACCEPTED_TYPES: 'SMS, Custom' });
    await bridge.mac(LOCATION);
    const answers = await Promise.all(
      ['SMS', 'Custom', undefined, 'custom', 'Email', ''].map((type) => bridge.post({ ...GOOD, type })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 400, 400, 400]);
    expect(answers[4]?.json).toEqual({
      error: 'Unsupported message type: Email',
      code: 'UNSUPPORTED_MESSAGE_TYPE',
    });
  });

  it('W7 a missing phone is looked up in the CRM with the token of the location, and not without one', async () => {
    const bridge = await start();
    const { id: contactId } = bridge.crm.addContact({ locationId: LOCATION, phone: '+14155550123' });
    const body = { ...GOOD, contactId, phone: undefined };
    await bridge.mac();
    expect((await bridge.post(body)).status).toBe(400);
    expect(bridge.crm.callsTo('contact')).toEqual([]);

    await bridge.restart({ CRM_PIT_TOKENS: JSON.stringify({ [LOCATION]: bridge.crm.pit(LOCATION) }) });
    const mac = await bridge.mac();
    expect((await bridge.post(body)).status).toBe(200);
    expect((await mac.nextFrame('send')).phone).toBe('+14155550123');
  });
});

describe('keys of the CRM', () => {
  const acme: SigningKey = { ...ed25519Key('acme'), header: 'X-Acme-Signature' };

  it('S6 take effect at once when the operator adds, disables or removes them', async () => {
    const bridge = await start();
    const status = async () => (await bridge.post(GOOD, { key: acme })).status;
    expect(await status()).toBe(401);
    const { scheme, header, publicKey } = acme;
    const added = await bridge.operator('POST', '/operator/keys', {
      label: 'Acme',
      scheme,
      header,
      publicKey,
    });
    expect(added.status).toBe(201);
    expect(await status()).toBe(404);
    const path = `/operator/keys/${String(added.body['id'])}`;
    await bridge.operator('PATCH', path, { enabled: false });
    expect(await status()).toBe(401);
    await bridge.operator('PATCH', path, { enabled: true });
    expect(await status()).toBe(404);
    await bridge.operator('DELETE', path);
    expect(await status()).toBe(401);
  });

  it('S6 can be rotated under load without rejecting a valid request', async () => {
    const bridge = await start();
    const stop = new AbortController();
    const seen = new Set<number>();
    const load = Array.from({ length: 4 }, async () => {
      while (!stop.signal.aborted) seen.add((await bridge.post(GOOD)).status);
    });
    for (let n = 0; n < 20; n++) {
      const { scheme, header, publicKey } = ed25519Key(`rotation ${n}`);
      const { body } = await bridge.operator('POST', '/operator/keys', {
        label: 'next',
        scheme,
        header,
        publicKey,
      });
      await bridge.operator('DELETE', `/operator/keys/${String(body['id'])}`);
    }
    stop.abort();
    await Promise.all(load);
    expect([...seen].filter((status) => status !== 404 && status !== 429)).toEqual([]);
  });

  it('S5 come from the settings too, and the start logs when there are none', async () => {
    const legacy = fixedRsaKey();
    const bridge = await start({ CRM_LEGACY_PUBLIC_KEY: legacy.publicKey });
    expect((await bridge.post(GOOD, { key: legacy })).status).toBe(404);
    expect(bridge.log).not.toContain('no CRM key is trusted');

    const bare = await start({ CRM_PUBLIC_KEY: '' });
    expect(bare.log).toContain('no CRM key is trusted');
    expect((await bare.post(GOOD)).status).toBe(401);
  });

  it('S8 verify no signature of 1 MB, which gets 401', async () => {
    const bridge = await start();
    const answer = await bridge.raw(
      `POST /crm/webhook HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-CRM-Signature: ${'A'.repeat(1_000_000)}\r\nContent-Length: 2\r\n\r\n{}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  });
});

describe('limits', () => {
  it('L1 allow 60 webhooks a minute by default, then 429', async () => {
    const bridge = await start();
    const statuses: number[] = [];
    for (let n = 0; n < 61; n++) statuses.push((await bridge.post(GOOD)).status);
    expect(statuses.slice(0, 60)).toEqual(Array.from({ length: 60 }, () => 404));
    expect(statuses[60]).toBe(429);
  });

  it('L5 allow 20 OAuth callbacks per address and minute, then 429 as JSON', async () => {
    const bridge = await start();
    const ask = () => fetch(`${bridge.url}/oauth/callback/crm?code=x`);
    for (let n = 0; n < 20; n++) expect((await ask()).status).toBe(503);
    const refused = await ask();
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ code: 'TOO_MANY_REQUESTS', message: expect.any(String) });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('L7 use X-Forwarded-For only with TRUST_PROXY', async () => {
    const odd = { ...GOOD, locationId: 'not-a-plain-id' };
    const from = async (bridge: TestBridge, address: string) =>
      (await bridge.post(odd, { headers: { 'X-Forwarded-For': address } })).status;
    const plain = await start({ RATE_LIMIT_CRM_WEBHOOK: '1' });
    expect([await from(plain, '1.1.1.1'), await from(plain, '2.2.2.2')]).toEqual([404, 429]);
    const behind = await start({ RATE_LIMIT_CRM_WEBHOOK: '1', TRUST_PROXY: 'loopback' });
    expect([
      await from(behind, '1.1.1.1'),
      await from(behind, '2.2.2.2'),
      await from(behind, '1.1.1.1'),
    ]).toEqual([404, 404, 429]);
  });
});

describe('bodies of webhooks', () => {
  it('W15 leave no canary value in logs, metrics or files', async () => {
    const bridge = await start();
    const mac = await bridge.mac(LOCATION);
    const canary = 'CaNaRy9d1e';
    const phone = '+14155550177';
    const bodies: unknown[] = [
      { ...GOOD, message: canary, contactId: canary, phone, attachments: [`https://cdn.example/${canary}`] },
      { ...GOOD, message: canary, phone: canary },
      { ...GOOD, attachments: [canary] },
      { ...GOOD, message: canary.repeat(2001), phone },
      { ...GOOD, locationId: 'elsewhere1', message: canary, phone },
      { ...GOOD, [canary]: canary, contactId: '' },
      `{"message":"${canary}`,
    ];
    for (const body of bodies) {
      await bridge.post(body);
      await bridge.post(body, { signature: canary });
    }
    await mac.nextFrame('send');
    const metrics = await (await fetch(`${bridge.bridge.operatorUrl}/metrics`)).text();
    expect(metrics).toContain('footbridge_webhook_requests_total');
    await bridge.close();
    const files = await dumpFiles(bridge.dataDir);
    expect(files).not.toBe('');
    for (const kept of [bridge.log, metrics, files]) {
      expect(kept).not.toContain(canary);
      expect(kept).not.toContain('4155550177');
    }
  });

  it('W14 that arrive in pieces are one request', async () => {
    const bridge = await start();
    const body = JSON.stringify(GOOD);
    const { port } = new URL(bridge.url);
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1');
      const head = `POST /crm/webhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nX-CRM-Signature: ${signBody(body, bridge.crm.key)}\r\nContent-Length: ${body.length}\r\n\r\n`;
      const pieces = [
        head.slice(0, 40),
        head.slice(40),
        body.slice(0, 10),
        body.slice(10, 50),
        body.slice(50),
      ];
      const next = () => {
        const piece = pieces.shift();
        if (piece === undefined) return;
        socket.write(piece);
        setTimeout(next, 10);
      };
      socket.setNoDelay().on('connect', next).on('error', reject);
      let text = '';
      socket
        .setEncoding('latin1')
        .on('data', (part: string) => (text += part))
        .on('close', () => resolve(text));
    });
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
  });
});
