import { ed25519Key, fixedRsaKey, signBody } from '@footbridge/testkit/keys';
import { describe, expect, it } from 'vitest';

import { GOOD, LOCATION, bridges } from './test-bridge.ts';
import type { TestBridge } from './test-bridge.ts';

const start = bridges();
const HOUR_MS = 3_600_000;

interface Rejections {
  readonly step: string;
  readonly header: string | null;
  readonly locationId: string | null;
  readonly count: number;
}

async function rejections(bridge: TestBridge): Promise<Rejections[]> {
  const { body } = await bridge.operator('GET', '/operator/keys/rejections');
  return body['rejections'] as Rejections[];
}

describe('rejected signatures', () => {
  it('S1 are counted by failing step for the operator, and look the same to the sender', async () => {
    const bridge = await start();
    const limited = ed25519Key('limited');
    await bridge.trust({ ...limited, header: 'X-Limited-Signature' }, { locations: ['other'] });
    const attempts = [
      bridge.post(GOOD, { unsigned: true }),
      bridge.post(GOOD, { signature: 'N/A' }),
      bridge.post(GOOD, { signature: 'no base64' }),
      bridge.post(GOOD, { signature: Buffer.alloc(10).toString('base64') }),
      bridge.post(GOOD, { key: { ...limited, header: 'X-Limited-Signature' } }),
      bridge.post(GOOD, { key: ed25519Key('unknown') }),
      bridge.post(GOOD, { key: ed25519Key('unknown') }),
    ];
    const texts = new Set((await Promise.all(attempts)).map(({ status, text }) => `${status} ${text}`));
    expect(texts.size).toBe(1);

    const counted = (await rejections(bridge)).map(
      ({ step, header, count }) => `${step} ${String(header)} ${count}`,
    );
    expect(new Set(counted)).toEqual(
      new Set([
        'base64 x-crm-signature 1',
        'header null 1',
        'header x-crm-signature 1',
        'key x-crm-signature 2',
        'length x-crm-signature 1',
        'location x-limited-signature 1',
      ]),
    );
    expect((await rejections(bridge)).map(({ locationId }) => locationId)).toContain(LOCATION);
    bridge.clock.freeze(HOUR_MS);
    expect(await rejections(bridge)).toEqual([]);
  });

  it('S6 are explained for a pasted sample, which is not kept', async () => {
    const bridge = await start();
    const sample = '{"message": "CANARY-SAMPLE"}';
    const diagnose = async (body: string, signature: string) =>
      (
        await bridge.operator('POST', '/operator/keys/diagnose', {
          body: Buffer.from(body).toString('base64'),
          signature,
        })
      ).body;
    const signature = signBody(sample, bridge.crm.key);
    expect(await diagnose(sample, signature)).toMatchObject({ ok: true, step: 'verified' });
    expect(await diagnose(`${sample}\n`, signature)).toMatchObject({ ok: false, step: 'body' });
    expect(await diagnose(sample, 'N/A')).toMatchObject({ ok: false, step: 'header' });
    expect(await diagnose(sample, signBody(sample, fixedRsaKey()))).toMatchObject({
      step: 'length',
    });
    expect((await bridge.operator('POST', '/operator/keys/diagnose', { body: '%', signature })).status).toBe(
      400,
    );
    expect(bridge.log).not.toContain('CANARY-SAMPLE');
  });
});
