import { Readable } from 'node:stream';

import { FakeClock } from '@footbridge/testkit/fake-clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import type { AssetRecord } from '../../ports/asset-index/asset-index.ts';
import { failed, succeeded } from '../../ports/crm/attempt.ts';
import { Cancellation } from '../../ports/crm/cancellation.ts';
import { createPrepareAttachments, HANDOVERS } from './prepare-attachments.ts';
import type { CrmStorage } from './prepare-attachments.ts';

const STORED = 'https://crm.example/a.png';
/** The token of the location has expired and cannot be refreshed. */
const NO_TOKEN = failed('away', { unsent: true });

const urlOf = (locationId: string) => `https://x.example/assets/${locationId.padEnd(32, '0')}/a.png`;

function setUp(put: CrmStorage['put']) {
  const clock = new FakeClock();
  const find = async (id: string): Promise<AssetRecord> => ({
    id,
    locationId: id.replace(/0+$/, ''),
    name: 'a.png',
    contentType: 'image/png',
    size: 3,
    sha256: '',
    originalId: null,
    note: null,
    createdAt: 0,
    expiresAt: 0,
  });
  const attachments = createPrepareAttachments({
    index: { find, setSender: async () => {} },
    assets: { open: async () => Readable.from([Buffer.from('abc')]) },
    storage: { put },
    clock,
    log: silentLog,
  });
  const send = async (locationId: string, cancellation = new Cancellation()) => {
    const { urls } = await attachments.prepare({
      locationId,
      contactId: 'contact-1',
      sender: '+14155550100',
      urls: [urlOf(locationId)],
      job: { cancellation, isWanted: () => !cancellation.isCancelled },
    });
    return urls;
  };
  return { clock, send };
}

describe('an upload to the CRM', () => {
  it.each([
    ['the location has no usable token', NO_TOKEN],
    ['the CRM asks for a longer wait', failed('http', { status: 429, retryAfterMs: 600_000 })],
  ])('I8 ends within half a minute with our own URL when %s', async (_what, failure) => {
    const { clock, send } = setUp(async () => failure);
    let urls: string[] | undefined;
    void send('loc1').then((sent) => (urls = sent));
    for (let second = 0; second < 31; second++) await clock.advance(1000);
    await until(() => urls, { within: 1000 });
    expect(urls).toEqual([urlOf('loc1')]);
  });

  it('I8 ends at once when its message is cancelled, also while it waits for a slot', async () => {
    let attempts = 0;
    const { send } = setUp(async () => {
      attempts++;
      return NO_TOKEN;
    });
    const cancellation = new Cancellation();
    const uploads = Array.from({ length: 3 * HANDOVERS.slots }, (_, index) =>
      send(`loc${index + 1}x`, cancellation),
    );
    await until(() => attempts === HANDOVERS.slots);
    cancellation.cancel();
    expect((await Promise.all(uploads)).flat()).not.toContain(STORED);
    expect(attempts).toBe(HANDOVERS.slots);
  });

  it('I8 leaves slots to other locations when those with a slot have no usable token', async () => {
    const { clock, send } = setUp(async ({ locationId }) =>
      locationId === 'good' ? succeeded(STORED) : NO_TOKEN,
    );
    for (let index = 0; index < HANDOVERS.slots; index++) void send(`bad${index + 1}x`);
    let urls: string[] | undefined;
    void send('good').then((sent) => (urls = sent));
    for (let second = 0; second < 31; second++) await clock.advance(1000);
    await until(() => urls, { within: 1000 });
    expect(urls).toEqual([STORED]);
  });
});
