import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { GOOD, LOCATION, TestBridge } from './test-bridge.ts';

let running: TestBridge | undefined;
afterEach(() => running?.stop());

const DAY_MS = 24 * 3_600_000;

async function start(env: Record<string, string>) {
  const bridge = (running = await TestBridge.start({ env }));
  const mac = await bridge.mac();
  const now = Date.now();
  const text = async (messageId: string, fields: object) => {
    bridge.crm.newMessage(LOCATION, messageId);
    const { status, json } = await bridge.post({ ...GOOD, messageId, ...fields });
    return { status, code: json?.['code'] };
  };
  return { bridge, mac, now, text };
}

describe('a webhook that the CRM repeats late', () => {
  it('fails with MESSAGE_TOO_OLD, and the Mac gets nothing', async () => {
    const { bridge, mac, now, text } = await start({ MESSAGE_MAX_AGE_SEC: '600' });
    expect(await text('fresh', { timestamp: new Date(now).toISOString() })).toEqual({ status: 200 });
    for (const [messageId, fields] of [
      ['old', { timestamp: new Date(now - DAY_MS).toISOString() }],
      ['added', { dateAdded: now - DAY_MS }],
    ] as const) {
      expect(await text(messageId, fields)).toEqual({ status: 422, code: 'MESSAGE_TOO_OLD' });
      await until(() => bridge.crm.statusesOf(messageId).length > 0, { what: 'a status' });
      expect(bridge.crm.statusesOf(messageId)[0]).toMatchObject({
        status: 'failed',
        error: { code: 'MESSAGE_TOO_OLD' },
      });
    }
    for (const [index, fields] of [{}, { timestamp: 'yesterday' }, { timestamp: 12 }].entries())
      expect(await text(`unknown ${index}`, fields)).toEqual({ status: 200 });
    const received = [];
    for (let count = 0; count < 4; count += 1) received.push((await mac.nextFrame('send', 60_000)).messageId);
    expect(received).toEqual(['fresh', 'unknown 0', 'unknown 1', 'unknown 2']);
  });

  it('is sent by default', async () => {
    const { now, text } = await start({});
    expect(await text('fresh', { timestamp: new Date(now).toISOString() })).toEqual({ status: 200 });
    expect(await text('old', { timestamp: new Date(now - DAY_MS).toISOString() })).toEqual({ status: 200 });
  });
});
