import { Readable } from 'node:stream';

import { FakeClock } from '@footbridge/testkit/fake-clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import type { AssetRecord } from '../assets/asset-index-sql.ts';
import { CANCELLED, failed, succeeded, Cancellation } from '../../platform/retry/retry.ts';
import type { Attempt } from '../../platform/retry/retry.ts';
import { createPrepareAttachments, HANDOVERS } from './prepare-attachments.ts';
import type { CrmStorage } from './prepare-attachments.ts';

const STORED = 'https://crm.example/a.png';
/** The token of the location has expired and cannot be refreshed. */
const NO_TOKEN = failed('unavailable', { unsent: true });

const urlOf = (locationId: string) => `https://x.example/assets/${locationId.padEnd(32, '0')}/a.png`;

/** What the CRM does with the uploads of a location. */
type Storing = (clock: FakeClock) => CrmStorage['put'];

const responding =
  (result: Attempt<string>): Storing =>
  () =>
  async () =>
    result;
/** The CRM has paused the location, so each attempt waits for the rate limit. */
const paused: Storing =
  (clock) =>
  async (_file, { cancellation }) => {
    await clock.sleep(600_000, cancellation?.signal);
    return CANCELLED;
  };

function setUp(storing: Storing) {
  const clock = new FakeClock();
  const find = async (id: string): Promise<AssetRecord> => ({
    id,
    locationId: id.replace(/0+$/, ''),
    licenseId: null,
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
    storage: { put: storing(clock) },
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
    ['the location has no usable token', responding(NO_TOKEN)],
    ['the CRM asks for a longer wait', responding(failed('http', { status: 429, retryAfterMs: 600_000 }))],
    ['the CRM has paused the location', paused],
  ])('I8 ends within half a minute with our own URL when %s', async (_what, storing) => {
    const { clock, send } = setUp(storing);
    let urls: string[] | undefined;
    void send('loc1').then((sent) => (urls = sent));
    for (let second = 0; second < 31; second++) await clock.advance(1000);
    await until(() => urls, { within: 1000 });
    expect(urls).toEqual([urlOf('loc1')]);
  });

  it('I8 ends at once when its message is cancelled, also while it waits for a slot', async () => {
    let attempts = 0;
    const { send } = setUp(() => async () => {
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

  it.each([
    ['have no usable token', responding(NO_TOKEN)],
    ['are paused by the CRM', paused],
  ])('I8 leaves slots to other locations when those with a slot %s', async (_what, storing) => {
    const { clock, send } = setUp((time) => {
      const put = storing(time);
      return async (file, guard) => (file.locationId === 'good' ? succeeded(STORED) : put(file, guard));
    });
    for (let index = 0; index < HANDOVERS.slots; index++) void send(`bad${index + 1}x`);
    let urls: string[] | undefined;
    void send('good').then((sent) => (urls = sent));
    for (let second = 0; second < 31; second++) await clock.advance(1000);
    await until(() => urls, { within: 1000 });
    expect(urls).toEqual([STORED]);
  });
});
