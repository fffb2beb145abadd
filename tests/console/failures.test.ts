import { findIssues } from '@footbridge/service/flows/issues/find-issues';
import type { IssueFacts } from '@footbridge/service/flows/issues/find-issues';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { findChromium } from '@footbridge/testkit/servers/chromium';
import { chromium } from 'playwright-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { LOCATION, TestBridge } from '../contract/test-bridge.ts';

const WITHIN = { timeout: 60_000 };
const cleanup = createCleanup();

let bridge: TestBridge;
let page: Page;

type Failure = [code: string, cause: RegExp, next: RegExp];

const OUTBOUND: Failure[] = [
  ['MISSING_REQUIRED_FIELDS', /required field is missing/, /Add the missing fields/],
  ['MESSAGE_BODY_TOO_LONG', /longer than the limit/, /Shorten the message/],
  ['RECIPIENT_PHONE_INVALID', /neither a possible phone number/, /Correct the contact's phone number/],
  ['CLIENT_NOT_CONNECTED', /No Mac was connected/, /when the Mac .* is back online/],
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
  ['LOCATION_NOT_CONNECTED', /No Mac is connected/, /Send it again when the Mac/],
  ['INVALID_ATTACHMENTS', /attachments is not an array/, /Upload the files first/],
  ['UNSUPPORTED_MESSAGE_TYPE', /type field is present and is not SMS/, /CRM_ACCEPTED_TYPES/],
];

const INBOUND: Failure[] = [
  ['NO_TOKEN', /has no token/, /Install the app/],
  ['TOKEN_REJECTED', /no longer accepts the token/, /Install the app in the location again/],
  ['NO_CONTACT', /has no contact for the sender/, /Add the sender as a contact/],
  ['CRM_REFUSED', /permanently rejected the message/, /Fix the cause in the CRM/],
  ['UNCERTAIN', /may already have the message/, /Redeliver a parked message if the CRM does not show it/],
];

const AT = Date.parse('2026-11-15T09:12:00Z');
const link = (name: string, sentence: string, action: string) => ({
  link: name,
  sentence,
  action,
  since: AT,
});

/** Everything is wrong at once. The links of tenants have their own words and tests. */
const FACTS: IssueFacts = {
  tenants: [
    {
      locationId: LOCATION,
      hadMac: true,
      broken: [
        link('mac', 'The Mac “Front desk” is not connected.', 'Check that this Mac is switched on.'),
        link('messages', 'Messages is not signed in.', 'Sign in to iMessage.'),
        link('permissions', 'Full Disk Access is missing.', 'Allow it.'),
        link('grant', 'The CRM no longer accepts the token.', 'Install the app again.'),
        link('crm', 'The CRM rejected 41 of the last 50 calls.', 'Open the newest failed message.'),
        link('queue', '3 messages wait on the Mac.', 'Check that Messages responds.'),
      ],
    },
  ],
  uncertain: [{ locationId: LOCATION, state: 'undeliverable', createdAt: AT }],
  rejectedSignatures: { count: 5, since: AT },
  seatsRefused: new Map([['l1', { count: 1, since: AT }]]),
  licenses: [{ id: 'l1', label: 'Agency', seats: { used: 1, max: 1 }, locationIds: [LOCATION] }],
  contended: new Map([[LOCATION, { count: 4, since: AT }]]),
  disk: { host: 'one', freeBytes: 1e6, totalBytes: 1e9 },
};
const ISSUES = findIssues(FACTS);

const text = (value: string) => `'${value.replaceAll("'", "''")}'`;

beforeAll(async () => {
  await import('@footbridge/console/build-console');
  // The clock stands still, so that no check closes the issues.
  bridge = await TestBridge.start({ stoppedClock: true });
  cleanup.add(() => bridge.stop());
  const now = bridge.clock.now();
  for (const [direction, status, failures] of [
    ['outbound', 'failed', OUTBOUND],
    ['inbound', 'undeliverable', INBOUND],
  ] as const)
    for (const [code] of failures)
      bridge.rows(`insert into messages
        (id, direction, location_id, message_id, kind, status, code, length, created_at, updated_at, steps)
        values ('id-${code}', '${direction}', '${LOCATION}', null, 'text', '${status}', '${code}', 1, ${now}, ${now}, '[]')`);
  for (const [index, { kind, subject, sentence, action }] of ISSUES.entries())
    bridge.rows(`insert into issues
      (id, kind, subject, locations, sentence, action, since, opened_at, seen_by, seen_at)
      values ('${index}', '${kind}', ${text(subject)}, null, ${text(sentence)}, ${text(action)}, ${AT}, ${now}, 'x', ${now})`);
  const browser = await chromium.launch(await findChromium());
  cleanup.add(() => browser.close());
  page = await browser.newPage();
  await page.goto(`${bridge.bridge.operatorUrl}/console`);
  await page.getByLabel('Operator token').fill(bridge.bridge.operatorToken);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Tenants' }).waitFor(WITHIN);
}, 120_000);
afterAll(() => cleanup.run());

describe('the corpus of 40 failures', () => {
  it('S6 has 40 of them', () => {
    expect(OUTBOUND.length + INBOUND.length + ISSUES.length).toBe(40);
  });

  it.each([...OUTBOUND, ...INBOUND])(
    'S6 the page of a message with %s names cause and next step',
    async (code, cause, next) => {
      await page.goto(`${bridge.bridge.operatorUrl}/console/messages/id-${code}`);
      const advice = page.locator('.advice').filter({ hasText: code });
      await advice.filter({ hasText: cause }).filter({ hasText: next }).waitFor(WITHIN);
    },
  );

  it('S6 the page of issues names cause and next step of each kind', async () => {
    await page.goto(`${bridge.bridge.operatorUrl}/console/issues`);
    for (const { sentence, action } of ISSUES)
      await page
        .getByRole('listitem')
        .filter({ hasText: sentence })
        .filter({ hasText: action })
        .waitFor(WITHIN);
    expect(new Set(ISSUES.map(({ kind }) => kind)).size).toBe(11);
  });
});
