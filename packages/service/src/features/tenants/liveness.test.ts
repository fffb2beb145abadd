import { expect, test } from 'vitest';

import { livenessOf } from './liveness.ts';
import type { LinkName, Problem } from './tenant-path.ts';

const problem = (link: LinkName, kind: Problem['kind'], isDead = false): Problem => ({
  link,
  kind,
  isDead,
  sentence: `${link} broke.`,
  action: 'Fix it.',
  since: 1,
});

test.each<[string, Problem[], string | undefined, string | undefined]>([
  ['no broken link', [], 'alive', undefined],
  ['a problem of the CRM', [problem('crm', 'crm_rejecting'), problem('installed', null)], 'alive', undefined],
  ['a problem that lets some texts through', [problem('traffic', 'line_silent')], 'degraded', 'line_silent'],
  [
    'a dead line behind a degraded one',
    [problem('messages', 'messages_not_running'), problem('permissions', 'permission_lost', true)],
    'dead',
    'permission_lost',
  ],
  ['a location that never had a Mac', [problem('mac', null)], undefined, undefined],
])('%s', (_name, broken, state, kind) => {
  const liveness = livenessOf(broken);
  expect([liveness?.state, liveness?.reason?.kind]).toEqual([state, kind]);
});
