import { createCleanup } from '@footbridge/testkit/cleanup';
import { ed25519Key } from '@footbridge/testkit/keys';
import { activate } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { hasChromium } from '@footbridge/testkit/servers/chromium';
import { until } from '@footbridge/testkit/until';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { GOOD, LOCATION, TestBridge } from '../contract/test-bridge.ts';
import type { PostOptions } from '../contract/test-bridge.ts';
import { startConsoleBrowser, WITHIN } from './console-browser.ts';

const cleanup = createCleanup();
const OPTED_OUT_PHONE = '+14155550177';
const SENDER = '+14155550150';

let bridge: TestBridge;
let mac: Mac;
let page: Page;

/** What the page must say about a failure. */
type Words = readonly [cause: RegExp, next: RegExp];

/** Webhooks that the service rejects. */
const REJECTED: readonly [code: string, fields: object, ...Words][] = [
  [
    'MISSING_REQUIRED_FIELDS',
    { contactId: undefined },
    /required field is missing/,
    /Add the missing fields/,
  ],
  ['MESSAGE_BODY_TOO_LONG', { message: 'x'.repeat(100_000) }, /longer than the limit/, /Shorten the message/],
  [
    'RECIPIENT_PHONE_INVALID',
    { phone: 'not a number' },
    /possible phone number/,
    /Correct the contact's phone number/,
  ],
  ['INVALID_ATTACHMENTS', { attachments: 'a.png' }, /attachments is not an array/, /Upload the files first/],
  ['UNSUPPORTED_MESSAGE_TYPE', { type: 'Email' }, /is not an accepted type/, /CRM_ACCEPTED_TYPES/],
  ['LOCATION_NOT_CONNECTED', { locationId: 'loc-away' }, /No Mac is connected/, /Send it again when the Mac/],
  [
    'OPTED_OUT',
    { phone: OPTED_OUT_PHONE },
    /asked not to receive texts/,
    /until the recipient opts in again/,
  ],
];

/** Codes that a Mac reports. */
const FROM_MAC: readonly [code: string, ...Words][] = [
  ['IMESSAGE_GROUP_INVALID_RECIPIENTS', /do not form a group/, /message them individually/],
  ['IMESSAGE_ERROR', /could not send the message/, /retry after a network failure/],
  ['INVALID_FRAME', /footer is unreadable/, /Correct the footer/],
  ['UI_AUTOMATION_DISABLED', /is disabled on the Mac/, /FOOTBRIDGE_UI_AUTOMATION=true/],
  ['AX_DENIED', /has not granted/, /Privacy & Security/],
  ['RATE_LIMITED', /queue is full/, /Wait about 30 seconds/],
  ['INTERNAL_ERROR', /unexpected error/, /Retry with backoff/],
  ['TIMEOUT', /timed out/, /Check in Messages on the Mac/],
  ['TARGET_NOT_FOUND', /message to react to could not be found/, /Check target_message_guid/],
  ['INVALID_KIND_FIELD_COMBO', /lacks a field/, /classic requires type/],
  ['PICKER_FAILED', /picker in Messages did not open/, /Retry after a few seconds/],
  ['EMOJI_NOT_IN_RECENTS', /emoji could not be applied/, /Fall back to a classic Tapback/],
  ['STICKER_NOT_FEASIBLE', /sticker could not be applied/, /Retry once/],
  ['STICKER_DOWNLOAD_FAILED', /could not download/, /Check that the url serves the image/],
  ['STICKER_ENCODE_FAILED', /could not decode/, /Send a PNG or JPEG/],
  ['COMPOSE_FAILED', /could not compose/, /update to macOS 15/],
  ['NOT_IMPLEMENTED', /does not support this kind/, /update the Mac client/],
];

/** Messages of customers that do not reach the CRM. Each has its own location, with the message's code as its name. */
const INBOUND: readonly [code: string, prepare: (locationId: string) => unknown, ...Words][] = [
  ['NO_TOKEN', () => {}, /has no token/, /Install the app/],
  [
    'TOKEN_REJECTED',
    async (locationId) => {
      await bridge.authorise(locationId);
      bridge.crm.revoke(locationId);
    },
    /no longer accepts the token/,
    /Install the app in the location again/,
  ],
  [
    'NO_CONTACT',
    (locationId) => bridge.authorise(locationId),
    /has no contact for the sender/,
    /Add the sender as a contact/,
  ],
  [
    'CRM_REFUSED',
    async (locationId) => {
      await withContact(locationId);
      bridge.crm.injectFault({ match: 'inbound', locationId, times: 10, how: { status: 422 } });
    },
    /permanently rejected the message/,
    /Fix the cause in the CRM/,
  ],
  [
    'UNCERTAIN',
    async (locationId) => {
      await withContact(locationId);
      bridge.crm.injectFault({ match: 'conversations', locationId, times: 10, how: { status: 403 } });
      bridge.crm.injectFault({ match: 'inbound', locationId, how: 'dropAnswer' });
    },
    /may already have the message/,
    /Redeliver a parked message if the CRM does not show it/,
  ],
];

const STATE = {
  type: 'state',
  capabilities: [],
  messages: { running: true, signedIn: true },
  permissions: { fullDisk: 'granted', automation: 'granted' },
  queue: { pending: 0 },
  lastSentAt: null,
  lastReceivedAt: null,
};

/** Each has its own location, with the kind of the issue as its name. */
const ISSUES: readonly [kind: string, cause: (locationId: string) => unknown, ...Words][] = [
  [
    'permission_lost',
    (locationId) => report(locationId, { permissions: { fullDisk: 'denied', automation: 'granted' } }),
    /does not have the Full Disk Access permission/,
    /Privacy & Security > Full Disk Access/,
  ],
  [
    'messages_signed_out',
    (locationId) => report(locationId, { messages: { running: true, signedIn: false } }),
    /is not signed in/,
    /Sign in to iMessage/,
  ],
  [
    'queue_old',
    (locationId) => report(locationId, { queue: { pending: 3, oldestSec: 900 } }),
    /3 messages wait on the Mac .* for 15 minutes/,
    /Check that Messages responds/,
  ],
  [
    'crm_rejecting',
    async (locationId) => {
      await bridge.authorise(locationId);
      await bridge.mac(locationId);
      bridge.crm.injectFault({ match: 'status', locationId, times: 100, how: { status: 403 } });
      for (let count = 0; count < 4; count++) await bridge.webhook({ locationId });
    },
    /rejected \d+ of the last \d+ calls, the last one with 403/,
    /Install the app again, with all scopes/,
  ],
  [
    'grant_revoked',
    async (locationId) => {
      await bridge.authorise(locationId);
      await bridge.mac(locationId);
      bridge.crm.revoke(locationId);
      await bridge.webhook({ locationId });
    },
    /no longer accepts the token/,
    /Install the app again in this sub-account/,
  ],
  [
    'signatures_rejected',
    async () => {
      for (let count = 0; count < 5; count++) await bridge.post(GOOD, { signature: 'AAAA' });
    },
    /webhooks got 401/,
    /footbridge keys test/,
  ],
  [
    'seats_exhausted',
    async () => {
      const { key } = await bridge.createLicense(1);
      for (const deviceId of ['mac-first', 'mac-second'])
        await activate(bridge.url, { licenseKey: key, deviceId });
    },
    /all 1 seat of the license “Test” are taken/,
    /footbridge license seats/,
  ],
  [
    'location_contended',
    async (locationId) => {
      const tokens = [await bridge.token('mac-rival-one'), await bridge.token('mac-rival-two')];
      for (let count = 0; count < 7; count++) {
        const rival = await bridge.connect({ token: tokens[count % 2] ?? '' });
        await rival.register(locationId).catch(() => rival.closed);
      }
    },
    /Several Macs claim this location/,
    /stop the agent on all but one/,
  ],
  [
    'deliveries_uncertain',
    async (locationId) => {
      await withContact(locationId);
      bridge.crm.injectFault({ match: 'conversations', locationId, times: 10, how: { status: 403 } });
      bridge.crm.injectFault({ match: 'inbound', locationId, how: 'dropAnswer' });
      const own = await bridge.mac(locationId);
      await own.ack(own.received({ sender: SENDER, text: 'Hi' }));
    },
    /may be missing 1 inbound message/,
    /Redeliver those that are missing/,
  ],
  [
    'mac_offline',
    async (locationId) => {
      const own = await bridge.mac(locationId);
      own.terminate();
    },
    /The Mac “Test Mac” is not connected/,
    /switched on, awake and online/,
  ],
];

/** Tenants that were never able to text, or no longer are. */
const TENANTS: readonly [locationId: string, cause: (locationId: string) => unknown, ...Words][] = [
  [
    'not-installed',
    (locationId) => bridge.mac(locationId),
    /The app is not installed in this sub-account/,
    /Install the app in HighLevel/,
  ],
  [
    'uninstalled',
    async (locationId) => {
      await bridge.authorise(locationId);
      await bridge.crm.sendAppEvent({ type: 'UNINSTALL', locationId });
    },
    /The app was uninstalled in this sub-account/,
    /install the app again in HighLevel/,
  ],
  [
    'without-mac',
    (locationId) => bridge.authorise(locationId),
    /No Mac has ever connected for this location/,
    /Pair a Mac with this location/,
  ],
];

const OTHER_KEY = ed25519Key('of another CRM');

/** Requests with a signature that the service rejects. */
const SIGNATURES: readonly [step: string, request: PostOptions, ...Words][] = [
  ['no signature', { unsigned: true }, /had no signature/, /register its key for that header/],
  ['not base64', { signature: '***' }, /not strict base64/, /Test a signed sample/],
  ['wrong length', { signature: 'AAAA' }, /does not have the length/, /Register the key that signs/],
  ['no key matches', { key: OTHER_KEY }, /No enabled key of this header verifies/, /Test a signed sample/],
];

const locationOf = (name: string) => `loc-${name}`;

async function withContact(locationId: string): Promise<void> {
  await bridge.authorise(locationId);
  bridge.crm.addContact({ locationId, phone: SENDER });
}

async function report(locationId: string, state: object): Promise<void> {
  await bridge.authorise(locationId);
  const own = await bridge.mac(locationId);
  own.send({ ...STATE, ...state });
  await own.roundTrip();
}

/** Waits until the journal has the message with this code. */
const journalled = (id: string, code: string) =>
  until(async () => {
    await bridge.clock.skip(1000);
    const { body } = await bridge.operator('GET', `/operator/messages/${id}`);
    return body['code'] === code;
  });

async function show(path: string): Promise<void> {
  await page.goto(`${bridge.bridge.operatorUrl}/console${path}`);
}

async function expectAdvice(id: string, code: string, [cause, next]: Words): Promise<void> {
  await show(`/messages/${id}`);
  const advice = page.locator('.advice').filter({ hasText: code });
  await advice.filter({ hasText: cause }).filter({ hasText: next }).waitFor(WITHIN);
}

describe.skipIf(!(await hasChromium()))(
  'the corpus of failures, caused by real traffic',
  { timeout: 120_000 },
  () => {
    beforeAll(async () => {
      bridge = await TestBridge.start({
        env: {
          CRM_CREATE_CONTACTS: 'false',
          CRM_SETTLE_SEC: '0',
          CRM_READ_LAG_SEC: '0',
          INBOUND_ON_UNCERTAIN: 'park',
          OPT_OUT_ENFORCED: 'true',
        },
      });
      cleanup.add(() => bridge.stop());
      const browser = await startConsoleBrowser(bridge, cleanup);
      mac = await bridge.mac();
      await bridge.crm.sendAppEvent({
        type: 'ContactDndUpdate',
        locationId: LOCATION,
        id: 'contact1',
        phone: OPTED_OUT_PHONE,
        dndSettings: { SMS: { status: 'active' } },
      });
      page = await browser.open('');
    }, 120_000);
    afterAll(() => cleanup.run());

    it('S6 has at least 40 of them', () => {
      const all = [REJECTED, FROM_MAC, INBOUND, ISSUES, TENANTS, SIGNATURES];
      expect(all.flat().length).toBeGreaterThanOrEqual(40);
    });

    it.each(REJECTED)(
      'S6 a webhook rejected with %s: cause and next step',
      async (code, fields, ...words) => {
        const messageId = `message-${code}`;
        expect((await bridge.post({ ...GOOD, messageId, ...fields })).json?.['code']).toBe(code);
        await journalled(messageId, code);
        await expectAdvice(messageId, code, words);
      },
    );

    it.each(FROM_MAC)('S6 a Mac that reports %s: cause and next step', async (code, ...words) => {
      const messageId = `message-${code}`;
      await bridge.webhook({ messageId });
      const { requestId } = await mac.nextFrame('send');
      await mac.ack(
        mac.status({ requestId, messageId, status: 'failed', error: { code, message: 'details' } }),
      );
      await journalled(messageId, code);
      await expectAdvice(messageId, code, words);
    });

    it.each(INBOUND)(
      'S6 an inbound message with %s: cause and next step',
      async (code, prepare, ...words) => {
        const [locationId, guid] = [locationOf(code), `guid-${code}`];
        await prepare(locationId);
        const own = await bridge.mac(locationId);
        own.received({ sender: SENDER, text: 'Hi', guid });
        await journalled(guid, code);
        await expectAdvice(guid, code, words);
      },
    );

    it.each(ISSUES)('S6 the issue %s: cause and next step', async (kind, cause, ...words) => {
      await cause(locationOf(kind));
      await until(async () => {
        await bridge.clock.skip(15_000);
        const { body } = await bridge.operator('GET', '/operator/issues');
        return (body['issues'] as { kind: string }[]).some((issue) => issue.kind === kind);
      });
      await show('/issues');
      const [sentence, action] = words;
      const card = page.getByRole('listitem').filter({ hasText: sentence });
      await card.filter({ hasText: action }).first().waitFor(WITHIN);
    });

    it.each(TENANTS)('S6 a tenant %s: cause and next step', async (name, cause, ...words) => {
      await cause(locationOf(name));
      await show('');
      const [sentence, action] = words;
      const card = page.locator('.tenant').filter({ hasText: locationOf(name) });
      await card.filter({ hasText: sentence }).filter({ hasText: action }).waitFor(WITHIN);
    });

    it.each(SIGNATURES)(
      'S6 a signature rejected for %s: cause and next step',
      async (step, request, ...words) => {
        expect((await bridge.post(GOOD, request)).status).toBe(401);
        await show('/keys');
        const [sentence, action] = words;
        const row = page.getByRole('row').filter({ hasText: step });
        await row.filter({ hasText: sentence }).filter({ hasText: action }).first().waitFor(WITHIN);
      },
    );

    it('S6 three clicks answer whether a text to a number went out, and if not, why', async () => {
      const [locationId, messageId, phone] = [locationOf('morning'), 'appointment', '+15555550100'];
      const own = await bridge.mac(locationId);
      await bridge.webhook({ locationId, phone, messageId });
      const { requestId } = await own.nextFrame('send');
      const error = { code: 'AX_DENIED', message: 'Automation' };
      await own.ack(own.status({ requestId, messageId, status: 'failed', error }));
      own.terminate();
      // The CRM repeats it.
      await until(async () => !(await bridge.reaches(locationId, { phone, messageId })));
      await show('');
      await page.getByRole('link', { name: 'Messages' }).first().click();
      await page.getByRole('searchbox').fill('+1 555 555 0100');
      await page.getByRole('button', { name: 'Search' }).click();
      await page.getByRole('row').filter({ hasText: 'AX_DENIED' }).getByRole('link').click();
      await page.getByRole('heading', { name: 'Not delivered: rejected by the service' }).waitFor(WITHIN);
      for (const reason of ['macOS has not granted', 'No Mac is connected for this location'])
        await page.locator('.advice').filter({ hasText: reason }).waitFor(WITHIN);
      await page.getByRole('heading', { name: 'Request 1 of' }).waitFor(WITHIN);
    });
  },
);
