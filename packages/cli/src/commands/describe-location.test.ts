import { describe, expect, it } from 'vitest';

import { localTime } from '../format-time.ts';
import { describeLocation } from './describe-location.ts';
import type { Location, ReportedState } from './describe-location.ts';

const location = (more: Partial<Location> = {}): Location => ({
  locationId: 'loc1',
  state: 'bound',
  licenseId: 'lic_1',
  license: 'Office',
  claimed: false,
  connected: null,
  lastDevice: null,
  oauth: { state: 'active', expiresAt: null, lastError: null },
  liveness: null,
  ...more,
});

const SILENT = {
  at: '2026-11-15T13:00:00.000Z',
  capabilities: [],
  lastSentAt: null,
  lastReceivedAt: null,
};

const withState = (state: Partial<ReportedState> | null) =>
  describeLocation(
    location({
      connected: {
        deviceId: 'mac-0001',
        name: 'Front desk',
        since: '2026-11-15T12:00:00.000Z',
        node: 'node-1',
        epoch: 1,
        state: state === null ? null : { ...SILENT, ...state },
      },
    }),
  ).split('\n');

describe('footbridge location show on a terminal', () => {
  it('says that no Mac is connected, and which one was last', () => {
    expect(describeLocation(location({ license: null, oauth: null })).split('\n')).toEqual([
      'loc1 belongs to no license. OAuth: not authorised.',
      'No Mac is connected, and none has been before.',
    ]);
    expect(
      describeLocation(
        location({
          lastDevice: { id: 'dev_1', deviceId: 'mac-0001', name: 'Front desk', lastSeenAt: SILENT.at },
        }),
      ),
    ).toContain('No Mac is connected. The last one was Front desk.');
  });

  it('says why tokens are unreadable, and what to do', () => {
    expect(
      describeLocation(location({ oauth: { state: 'unreadable', expiresAt: null, lastError: null } }))
        .split('\n')
        .slice(0, 2),
    ).toEqual([
      'loc1 belongs to Office. OAuth: unreadable.',
      'Its tokens were encrypted with a key that is not in CRM_OAUTH_ENCRYPTION_KEY. Add the former key, or install the app again.',
    ]);
  });

  it('says that a Mac has not reported its state', () => {
    expect(withState(null)).toEqual([
      'loc1 belongs to Office. OAuth: active.',
      `Front desk has been connected since ${localTime('2026-11-15T12:00:00Z')}.`,
      'It has not reported its state.',
    ]);
  });

  it('describes a Mac that works', () => {
    const state: Partial<ReportedState> = {
      macos: { version: '26.1', build: '25B78' },
      permissions: { fullDisk: 'granted', automation: 'granted', accessibility: 'granted' },
      messages: { running: true, signedIn: true },
      session: 'active',
      queue: { pending: 0, oldestSec: 0 },
      lastSentAt: '2026-11-15T12:30:00.000Z',
    };
    expect(withState(state).slice(2)).toEqual([
      `It reported its state at ${localTime('2026-11-15T13:00:00Z')}.`,
      'macOS 26.1 (25B78).',
      'All permissions are granted.',
      'The queue is empty.',
      `Last message sent: ${localTime('2026-11-15T12:30:00Z')}.`,
      'Last message received: none.',
    ]);
  });

  it('names missing permissions, a stopped Messages, a locked screen and waiting messages', () => {
    const state: Partial<ReportedState> = {
      macos: { version: '15.6' },
      permissions: { fullDisk: 'denied', automation: 'denied' },
      messages: { running: false, signedIn: false },
      session: 'locked',
      queue: { pending: 2, oldestSec: 40 },
    };
    expect(withState(state).slice(3, -2)).toEqual([
      'macOS 15.6.',
      'Permissions missing: Full Disk Access, Automation.',
      'Permissions not known: Accessibility.',
      'Messages is not running.',
      'Messages is not signed in.',
      'The screen is locked.',
      '2 messages wait in the queue, the oldest for 40 seconds.',
    ]);
    expect(withState({ queue: { pending: 1 } })).toContain('1 message waits in the queue.');
    const pacing = {
      minGapMs: 1,
      maxGapMs: 2,
      newPerDay: 50,
      newLastDay: 50,
      held: 2,
      nextSlotAt: '2026-05-01T13:00:00.000Z',
    };
    expect(withState({ pacing })).toEqual(
      expect.arrayContaining([
        'New conversations in the last day: 50 of 50.',
        'Messages waiting for a limit of the line: 2.',
        `Next free slot: ${localTime('2026-05-01T13:00:00Z')}.`,
      ]),
    );
  });

  it('replaces control characters in what the Mac reported', () => {
    const lines = withState({ macos: { version: '26\u001b[31m\n' } });
    expect(lines).toContain('macOS 26·[31m·.');
  });
});
