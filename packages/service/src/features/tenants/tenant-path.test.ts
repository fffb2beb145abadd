import { describe, expect, test } from 'vitest';

import { tenantPath } from './tenant-path.ts';
import type { TenantFacts } from './tenant-path.ts';

const AT = Date.parse('2026-11-15T09:12:00Z');
const NO_CALLS = { calls: 0, rejected: 0, lastResult: null, rejectedSince: null };

const QUIET = { unanswered: null, failing: null, silent: null };
const UNANSWERED = { ...QUIET, unanswered: { count: 2, since: AT } };

type State = NonNullable<NonNullable<TenantFacts['mac']>['stateReport']>['state'];

const mac = (state: Partial<State> = {}) => ({
  name: 'Front desk',
  since: AT,
  stateReport: {
    at: AT,
    state: {
      type: 'state' as const,
      capabilities: [],
      lastSentAt: null,
      lastReceivedAt: null,
      messages: { running: true, signedIn: true },
      permissions: { fullDisk: 'granted', automation: 'granted', accessibility: 'granted' } as const,
      queue: { pending: 0 },
      ...state,
    },
  },
});

const facts = (changed: Partial<TenantFacts> = {}): TenantFacts => ({
  locationId: 'loc1',
  token: 'oauth',
  grant: { state: 'active', lastError: null },
  lastWebhookAt: AT,
  mac: mac(),
  lastMac: { name: 'Front desk', lastSeenAt: AT },
  crmCalls: { ...NO_CALLS, calls: 10 },
  traffic: QUIET,
  now: AT,
  ...changed,
});

test('a tenant whose links all work has no problem', () => {
  const { links, problem } = tenantPath(facts());
  expect(links.map(({ state }) => state)).toEqual(Array.from({ length: 9 }, () => 'ok'));
  expect(problem).toBeNull();
});

describe('the first broken link is the problem', () => {
  test.each<[string, Partial<TenantFacts>, RegExp, RegExp]>([
    ['installed', { token: 'none', grant: null }, /not installed/, /Install the app/],
    [
      'grant',
      { grant: { state: 'reauth_required', lastError: 'invalid_grant' } },
      /no longer accepts the token \(invalid_grant\)/,
      /Install the app again/,
    ],
    [
      'grant',
      { grant: { state: 'unreadable', lastError: null } },
      /encrypted with a key that is not in CRM_OAUTH_ENCRYPTION_KEY/,
      /Add the former key .* install the app again/,
    ],
    [
      'grant',
      { token: 'unreadable', grant: null },
      /encrypted with a key that is not in CRM_OAUTH_ENCRYPTION_KEY/,
      /Add the former key .* set the private integration token again/,
    ],
    [
      'installed',
      { token: 'ambiguous', grant: null },
      /CRM_PIT_TOKEN belongs to one location, and licenses own several/,
      /footbridge location delete/,
    ],
    ['mac', { mac: null }, /“Front desk” is not connected/, /switched on/],
    ['mac', { mac: null, lastMac: null }, /No Mac has ever connected/, /Pair a Mac/],
    [
      'messages',
      { mac: mac({ messages: { signedIn: false } }) },
      /“Front desk” is not signed in/,
      /Sign in to iMessage/,
    ],
    [
      'permissions',
      { mac: mac({ permissions: { fullDisk: 'denied', automation: 'granted' } }) },
      /does not have the Full Disk Access permission/,
      /Full Disk Access on this Mac/,
    ],
    [
      'queue',
      { mac: mac({ queue: { pending: 3, oldestSec: 900 } }) },
      /3 messages wait .* the oldest for 15 minutes/,
      /doctor/,
    ],
    [
      'messages',
      { mac: mac({ messages: { signedIn: true, store: 'corrupt' } }) },
      /message store of the Mac “Front desk” is corrupt/,
      /doctor/,
    ],
    ['messages', { mac: mac({ messages: { running: false } }) }, /is not running/, /Open Messages/],
    [
      'queue',
      { mac: mac({ queue: { pending: 1, oldestSec: 60 } }), now: AT + 180_000 },
      /1 message waits .* for 4 minutes, and none has been sent since/,
      /doctor/,
    ],
    [
      'queue',
      { mac: { ...mac(), stateReport: null }, traffic: UNANSWERED, now: AT + 240_000 },
      /2 messages wait .* for 4 minutes, and none has been sent since/,
      /doctor/,
    ],
    [
      'traffic',
      { traffic: { ...QUIET, failing: { count: 6, code: 'TIMEOUT', since: AT } } },
      /last 6 texts failed .* with TIMEOUT/,
      /by hand/,
    ],
    [
      'traffic',
      { traffic: { ...QUIET, silent: { since: AT - 9 * 3_600_000, sent: 14 } } },
      /for 9 hours, which is unusual .* 14 were sent/,
      /from another phone/,
    ],
    [
      'crm',
      { crmCalls: { calls: 50, rejected: 41, lastResult: '401', rejectedSince: AT } },
      /rejected 41 of the last 50 calls, the last one with 401/,
      /Install the app again, with all scopes/,
    ],
  ])('%s', (link, changed, sentence, action) => {
    const { problem } = tenantPath(facts(changed));
    expect(problem?.link).toBe(link);
    expect(problem?.sentence).toMatch(sentence);
    expect(problem?.action).toMatch(action);
  });

  test('does not report messages that wait for a limit of the line', () => {
    const waits = { queue: { pending: 3, oldestSec: 900 } };
    const pacing = { minGapMs: 0, maxGapMs: 0, held: 2, nextSlotAt: '2026-05-01T13:00:00.000Z' };
    const { problem, links } = tenantPath(facts({ mac: mac({ ...waits, pacing }) }));
    expect(problem).toBeNull();
    expect(links.find(({ name }) => name === 'queue')?.sentence).toBe(
      '3 messages wait on the Mac: 2 over a limit of the line; the next free slot is at 2026-05-01T13:00:00.000Z.',
    );
  });

  test('of several broken links, the earliest in the path is named', () => {
    const { problem } = tenantPath(
      facts({ mac: null, crmCalls: { calls: 2, rejected: 2, lastResult: '500', rejectedSince: AT } }),
    );
    expect(problem?.link).toBe('mac');
  });
});

describe('what is not known is not a problem', () => {
  test.each<[string, Partial<TenantFacts>]>([
    ['a Mac that reported nothing', { mac: { ...mac(), stateReport: null } }],
    ['a Mac that reported no permissions', { mac: mac({ permissions: {} }) }],
    [
      'a text that waits while others are sent',
      {
        mac: mac({ queue: { pending: 9, oldestSec: 300 }, lastSentAt: new Date(AT - 60_000).toISOString() }),
      },
    ],
    ['a text without a result on a Mac whose queue is empty', { traffic: UNANSWERED, now: AT + 900_000 }],
    [
      'a text without a result on a Mac that has just connected',
      { mac: { ...mac(), stateReport: null, since: AT + 200_000 }, traffic: UNANSWERED, now: AT + 240_000 },
    ],
    ['a tenant without traffic', { lastWebhookAt: null, crmCalls: NO_CALLS }],
    [
      'a Mac without Accessibility, which still texts',
      { mac: mac({ permissions: { fullDisk: 'granted', automation: 'granted', accessibility: 'denied' } }) },
    ],
  ])('%s', (_name, changed) => {
    expect(tenantPath(facts(changed)).problem).toBeNull();
  });
});
