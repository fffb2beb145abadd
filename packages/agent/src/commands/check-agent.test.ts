import { describe, expect, it } from 'vitest';

import type { AgentReport } from '../edges/local-socket/local-calls.ts';
import { checkAgent, describeAge } from './check-agent.ts';

const HEALTHY: AgentReport = {
  version: '1.0.0',
  location: 'loc1',
  link: { state: 'registered' },
  store: 'readable',
  newestMessageAgeSec: 60,
  engine: 'macos',
  uiAutomation: true,
  grantedBefore: [],
  state: {
    capabilities: ['text'],
    permissions: { fullDisk: 'granted', automation: 'granted', accessibility: 'granted' },
    messages: { running: true, signedIn: true, services: ['iMessage', 'SMS'] },
    session: 'active',
    lastSentAt: null,
    lastReceivedAt: null,
  },
};

const withState = (state: Partial<AgentReport['state']>): AgentReport => ({
  ...HEALTHY,
  state: { ...HEALTHY.state, ...state },
});

describe('doctor and the running agent', () => {
  it('warns only of unverified capabilities on a healthy Mac', () => {
    const findings = checkAgent(HEALTHY, false);
    expect(findings.filter(({ state }) => state !== 'pass').map(({ check }) => check)).toEqual(['Verified']);
    expect(checkAgent(HEALTHY, true).every(({ state }) => state === 'pass')).toBe(true);
  });

  it('requires only Full Disk Access with BlueBubbles', () => {
    const permissions = { fullDisk: 'denied', automation: 'unknown', accessibility: 'denied' } as const;
    const report: AgentReport = {
      ...withState({ permissions }),
      engine: 'bluebubbles',
      uiAutomation: false,
    };
    const states = new Map(checkAgent(report, false).map(({ check, state }) => [check, state]));
    expect(Object.fromEntries(states)).toMatchObject({
      'Full Disk': 'fail',
      Automation: 'pass',
      Access: 'pass',
    });
  });

  it('fails when an installed agent does not run, and warns when none is installed', () => {
    expect(checkAgent(undefined, false, { isInstalled: true })).toMatchObject([
      { check: 'Agent', state: 'fail', next: expect.stringContaining('footbridge-agent setup') },
    ]);
    expect(checkAgent(undefined, false)).toMatchObject([{ check: 'Agent', state: 'warn' }]);
  });

  it.each<[string, AgentReport | undefined, string, string, RegExp]>([
    ['no agent', undefined, 'Agent', 'warn', /setup/],
    [
      'no connection',
      { ...HEALTHY, link: { state: 'waiting', because: 'refused' } },
      'Link',
      'fail',
      /network/,
    ],
    ['no Full Disk Access', withPermission('fullDisk', 'denied'), 'Full Disk', 'fail', /Full Disk Access/],
    ['no Automation', withPermission('automation', 'denied'), 'Automation', 'fail', /Automation/],
    ['an undecided Automation', withPermission('automation', 'unknown'), 'Automation', 'warn', /setup/],
    ['no Accessibility', withPermission('accessibility', 'denied'), 'Access', 'fail', /Accessibility/],
    ['no store', { ...HEALTHY, store: 'absent' }, 'Messages', 'fail', /Open Messages/],
    ['an empty store', { ...HEALTHY, store: 'empty' }, 'Messages', 'fail', /sign in/],
    ['a damaged store', { ...HEALTHY, store: 'corrupt' }, 'Messages', 'fail', /restart/],
    ['Messages signed out', withState({ messages: { signedIn: false } }), 'Messages', 'fail', /sign in/],
    ['a locked screen', withState({ session: 'locked' }), 'Messages', 'warn', /Unlock/],
    ['no SMS', withState({ messages: { services: ['iMessage'] } }), 'SMS', 'warn', /Text Message Forwarding/],
    ['unknown services', withState({ messages: {} }), 'SMS', 'warn', /setup/],
    ['a week of silence', { ...HEALTHY, newestMessageAgeSec: 9 * 86_400 }, 'Newest', 'warn', /sign out/],
  ])('reports %s with one remedy', (_case, report, check, state, next) => {
    const finding = checkAgent(report, false).find((candidate) => candidate.check === check);
    expect(finding).toMatchObject({ state, next: expect.stringMatching(next) });
  });

  it('needs no Accessibility when the owner switched UI automation off', () => {
    const denied = { ...withPermission('accessibility', 'denied'), uiAutomation: false };
    expect(checkAgent(denied, false).find(({ check }) => check === 'Access')).toMatchObject({
      state: 'pass',
    });
  });
});

it.each([
  [5, '5 seconds'],
  [600, '10 minutes'],
  [7200, '2 hours'],
  [3 * 86_400, '3 days'],
])('describes %i seconds as %s', (seconds, words) => {
  expect(describeAge(seconds)).toBe(words);
});

function withPermission(
  name: 'fullDisk' | 'automation' | 'accessibility',
  value: 'denied' | 'unknown',
): AgentReport {
  const granted = { fullDisk: 'granted', automation: 'granted', accessibility: 'granted' } as const;
  return withState({ permissions: { ...granted, [name]: value } });
}
