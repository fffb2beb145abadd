import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { LOCATION, OTHER_LOCATION, PHONE, bridgesWithMac } from './test-bridge.ts';
import type { TestBridge } from './test-bridge.ts';

const start = bridgesWithMac();
const CAPTURE = `/operator/locations/${LOCATION}/capture`;
const FIFTEEN_MINUTES = 15 * 60_000;

async function send(bridge: TestBridge, message: string, locationId = LOCATION): Promise<string> {
  const { answer } = await bridge.webhook({ message, locationId });
  return (answer as { requestId: string }).requestId;
}

async function trail(bridge: TestBridge, id: string) {
  return (await bridge.journalled(id, 'accepted')) as unknown as {
    text: string | null;
    capturedUntil: string | null;
    requests: { text: string | null }[];
  };
}

describe('the capture of texts', () => {
  it('T18 shows no text before it is turned on', async () => {
    const bridge = await start();
    const id = await send(bridge, 'CANARY-BEFORE');
    expect(await trail(bridge, id)).toMatchObject({ text: null, capturedUntil: null });
    await bridge.operator('PUT', CAPTURE);
    expect(await trail(bridge, id)).toMatchObject({ text: null, requests: [{ text: null }] });
    await bridge.operator('DELETE', CAPTURE);
  });

  it('T18 shows the texts of one location in both directions for 15 minutes, and then forgets them', async () => {
    const bridge = await start({ stoppedClock: true });
    const mac = await bridge.mac();
    await bridge.mac(OTHER_LOCATION);
    const { body } = await bridge.operator('PUT', CAPTURE);
    expect(body).toEqual({
      locationId: LOCATION,
      until: new Date(bridge.clock.now() + FIFTEEN_MINUTES).toISOString(),
    });
    const id = await send(bridge, 'Captured');
    const other = await send(bridge, 'Hidden', OTHER_LOCATION);
    mac.received({ guid: 'guid-1', sender: PHONE, text: 'Inbound text' });
    await until(async () => {
      await bridge.clock.skip(200);
      return (await bridge.operator('GET', '/operator/messages/guid-1')).body['text'] === 'Inbound text';
    });
    expect(await trail(bridge, id)).toMatchObject({
      text: 'Captured',
      capturedUntil: body['until'],
      requests: [{ text: 'Captured' }],
    });
    expect(await trail(bridge, other)).toMatchObject({ text: null, capturedUntil: null });

    bridge.clock.freeze(FIFTEEN_MINUTES);
    expect(await trail(bridge, id)).toMatchObject({ text: null, capturedUntil: null });
    await bridge.operator('PUT', CAPTURE);
    expect(await trail(bridge, id)).toMatchObject({ text: null });
  });

  it('T18 keeps texts out of files, logs, lists and events, and forgets them when it is turned off', async () => {
    const bridge = await start();
    await bridge.operator('PUT', CAPTURE);
    const id = await send(bridge, 'CANARY-TEXT');
    expect((await trail(bridge, id)).text).toBe('CANARY-TEXT');
    const list = await bridge.operator('GET', '/operator/messages');
    expect(JSON.stringify(list.body)).not.toContain('CANARY-TEXT');
    expect((await bridge.operator('DELETE', CAPTURE)).status).toBe(204);
    expect((await bridge.operator('DELETE', CAPTURE)).status).toBe(404);
    expect((await trail(bridge, id)).text).toBeNull();
    for (const file of readdirSync(bridge.dataDir, { recursive: true, withFileTypes: true }))
      if (file.isFile())
        expect(readFileSync(join(file.parentPath, file.name)).includes('CANARY-TEXT'), file.name).toBe(false);
    expect(bridge.log).not.toContain('CANARY-TEXT');
  });

  it('T18 is recorded in the audit log, and needs a token that may change the location', async () => {
    const bridge = await start();
    const { body } = await bridge.operator('POST', '/operator/tokens', {
      label: 'Agency',
      locations: [LOCATION],
    });
    const reader = await bridge.operator('POST', '/operator/tokens', { label: 'Reader', readOnly: true });
    const turnOn = async (token: unknown, locationId: string) =>
      (
        await fetch(`${bridge.bridge.operatorUrl}/operator/locations/${locationId}/capture`, {
          method: 'PUT',
          headers: { Authorization: `Bearer ${String(token)}` },
        })
      ).status;
    expect(await turnOn(body['token'], OTHER_LOCATION)).toBe(403);
    expect(await turnOn(reader.body['token'], LOCATION)).toBe(403);
    expect(await turnOn(body['token'], LOCATION)).toBe(200);
    await bridge.operator('DELETE', CAPTURE);
    const audit = await bridge.operator('GET', '/operator/audit?limit=2');
    expect(audit.body['entries']).toMatchObject([
      { name: 'Operator', action: 'capture.stopped', target: LOCATION },
      { name: 'Agency', action: 'capture.started', target: LOCATION },
    ]);
  });

  it('T18 stays on over a restart of the service, whose memory forgets the texts', async () => {
    const bridge = await start({});
    await bridge.operator('PUT', CAPTURE);
    const before = await send(bridge, 'Before');
    expect((await trail(bridge, before)).text).toBe('Before');
    await bridge.restart();
    await bridge.mac();
    expect((await trail(bridge, before)).text).toBeNull();
    const after = await send(bridge, 'After');
    expect((await trail(bridge, after)).text).toBe('After');
  });
});
