import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseFooter } from '@footbridge/protocol/footer';
import { startCrm } from '@footbridge/testkit/crm';
import type { Crm } from '@footbridge/testkit/crm';
import { activate, connectMac } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { startBridge } from '../bridge.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const fixture = (name: string) =>
  readFileSync(join(import.meta.dirname, '../../packages/media/src/fixtures', name));

interface Started {
  crm: Crm;
  mac: Mac;
  upload: (bytes: Uint8Array<ArrayBuffer>, name: string) => Promise<string>;
}

async function start(env: Record<string, string> = {}): Promise<Started> {
  const crm = await startCrm();
  cleanup.add(() => crm.stop());
  const bridge = await startBridge({
    CRM_HOSTNAME: crm.url,
    CRM_PIT_TOKENS: `loc1=${crm.pit('loc1')}`,
    ...env,
  });
  cleanup.add(() => bridge.stop());
  const made = await fetch(`${bridge.operatorUrl}/operator/licenses`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${bridge.operatorToken}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ label: 'test', maxSeats: 1 }),
  });
  const { key } = (await made.json()) as { key: string };
  const { deviceToken = '' } = await activate(bridge.url, { licenseKey: key });
  const mac = await connectMac(bridge.url, { token: deviceToken });
  cleanup.add(() => mac.close());
  await mac.register('loc1');
  return {
    crm,
    mac,
    async upload(bytes, name) {
      const answer = await fetch(`${bridge.url}/mac/assets`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${deviceToken}`,
          'Content-Type': 'application/octet-stream',
          'X-File-Name': name,
        },
        body: bytes,
      });
      return ((await answer.json()) as { url: string }).url;
    },
  };
}

const from = '+15555550100';

describe('attachments in the CRM', () => {
  it('I8 sends the URL of a converted image, without a footer', async () => {
    const { crm, mac, upload } = await start();
    const url = await upload(fixture('cutout.heic'), 'sticker.heic');
    await mac.ack(mac.received({ sender: from, text: 'look', attachments: [url] }));
    const [stored] = crm.messages;
    expect(stored?.attachments).toEqual([url]);
    expect(stored?.message).toBe('look');
    expect((await fetch(url)).headers.get('content-type')).toBe('image/png');
  });

  it('I8 says in the footer that an image could not be converted', async () => {
    const { crm, mac, upload } = await start();
    const url = await upload(fixture('cutout.heic').subarray(0, 700), 'broken.heic');
    await mac.ack(mac.received({ sender: from, text: 'look', attachments: [url] }));
    const [stored] = crm.messages;
    expect(stored?.attachments).toEqual([url]);
    const { text, metadata } = parseFooter(stored?.message ?? '');
    expect(text).toBe('look');
    expect(metadata?.['attachment_notes']).toEqual([expect.stringMatching(/^broken\.heic: not converted: /)]);
  });

  it('I8 hands the file over to the CRM with CRM_UPLOAD_ATTACHMENTS', async () => {
    const { crm, mac, upload } = await start({ CRM_UPLOAD_ATTACHMENTS: 'true' });
    const url = await upload(fixture('pattern.png'), 'pattern.png');
    await mac.ack(mac.received({ sender: from, text: 'look', attachments: [url] }));
    expect(crm.uploads).toMatchObject([{ name: 'pattern.png', size: fixture('pattern.png').length }]);
    expect(crm.messages[0]?.attachments).toEqual([crm.uploads[0]?.url]);
  });

  it('I8 sends our own URL when the CRM refuses the file', async () => {
    const { crm, mac, upload } = await start({ CRM_UPLOAD_ATTACHMENTS: 'true' });
    crm.injectFault({ match: 'upload', times: 5, how: { status: 415 } });
    const url = await upload(fixture('pattern.png'), 'pattern.png');
    await mac.ack(mac.received({ sender: from, text: 'look', attachments: [url] }));
    expect(crm.messages[0]?.attachments).toEqual([url]);
  });

  it('I8 sends our own URL of a WebP, which the CRM does not store', async () => {
    const { crm, mac, upload } = await start({ CRM_UPLOAD_ATTACHMENTS: 'true' });
    const url = await upload(fixture('animation.webp'), 'party.webp');
    await mac.ack(mac.received({ sender: from, text: 'look', attachments: [url] }));
    expect(crm.messages[0]?.attachments).toEqual([url]);
  });

  it('passes a foreign URL on without fetching it', async () => {
    const { crm, mac } = await start({ CRM_UPLOAD_ATTACHMENTS: 'true' });
    const foreign = 'http://127.0.0.1:1/assets/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/x.png';
    await mac.ack(mac.received({ sender: from, text: 'look', attachments: [foreign] }));
    expect(crm.messages[0]?.attachments).toEqual([foreign]);
    expect(crm.uploads).toEqual([]);
  });
});
