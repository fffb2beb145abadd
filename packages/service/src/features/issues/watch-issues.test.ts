import type { Clock } from '@footbridge/runtime/clock';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { afterEach, expect, it } from 'vitest';

import { createIssues } from './issues-sql.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import type { Finding } from '../../platform/findings.ts';
import { IssueWatch } from './watch-issues.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const broken = (kind: string, sentence = 'It broke.'): Finding[] => [
  { kind, subject: 'loc1', locationIds: ['loc1'], sentence, action: 'Fix it.', since: null },
];

/** Nodes on one database, each with its own findings. */
async function start(...names: string[]) {
  const clock = new FakeClock();
  // The clocks of nodes differ.
  const ahead = { ...bound(clock), now: () => clock.now() + 600_000 };
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  cleanup.add(() => database.close());
  const events: string[] = [];
  const nodes = names.map((node, index) => {
    const nodeClock = index === 0 ? clock : ahead;
    const issues = createIssues({ db: database.db, clock: nodeClock });
    const state: { found: Finding[]; undecided: string[]; isDown: boolean } = {
      found: [],
      undecided: [],
      isDown: false,
    };
    const watch = new IssueWatch({
      issues,
      find: async () => {
        if (state.isDown) throw new Error('down');
        return state.found;
      },
      isUndecided: ({ kind }) => state.undecided.includes(kind),
      node,
      clock: nodeClock,
      log: silentLog,
      changed: (change, { kind, subject }) => events.push(`${node} ${change} ${kind} ${subject}`),
      checked: () => {},
    });
    cleanup.add(() => watch.close());
    return { state, watch };
  });
  /** Lets time pass, with a pause after each check for the queries to settle. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 5000) {
      await clock.advance(5000);
      await Promise.all(nodes.map(({ watch }) => watch.idle()));
    }
  };
  return { nodes, issues: createIssues({ db: database.db, clock }), events, pass };
}

const bound = (clock: FakeClock): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  after: (ms, task) => clock.after(ms, task),
  sleep: (ms, signal) => clock.sleep(ms, signal),
});

it('opens an issue, rewords it while it lasts, and closes it', async () => {
  const { nodes, issues, events, pass } = await start('a');
  const [a] = nodes;
  if (a === undefined) throw new Error('no node');
  a.state.found = broken('queue_old', 'Waits 10 minutes.');
  await pass(15_000);
  expect(events).toEqual(['a opened queue_old loc1']);
  a.state.found = broken('queue_old', 'Waits 11 minutes.');
  await pass(30_000);
  expect((await issues.listOpen()).map(({ sentence }) => sentence)).toEqual(['Waits 11 minutes.']);
  a.state.found = [];
  await pass(15_000);
  expect(events).toEqual(['a opened queue_old loc1', 'a closed queue_old loc1']);
});

it('keeps an issue open that can be neither confirmed nor refuted, and closes the others', async () => {
  const { nodes, events, pass } = await start('a');
  const [a] = nodes;
  if (a === undefined) throw new Error('no node');
  a.state.found = [...broken('permission_lost'), ...broken('crm_rejecting')];
  await pass(15_000);
  a.state.found = [];
  a.state.undecided = ['permission_lost'];
  await pass(120_000);
  expect(events.slice(2)).toEqual(['a closed crm_rejecting loc1']);
  a.state.undecided = [];
  await pass(15_000);
  expect(events.slice(3)).toEqual(['a closed permission_lost loc1']);
});

it('opens "Mac offline" only after five minutes in a row', async () => {
  const { nodes, events, pass } = await start('a');
  const [a] = nodes;
  if (a === undefined) throw new Error('no node');
  a.state.found = broken('mac_offline');
  await pass(240_000);
  a.state.found = [];
  await pass(15_000);
  a.state.found = broken('mac_offline');
  await pass(300_000);
  expect(events).toEqual([]);
  await pass(30_000);
  expect(events).toEqual(['a opened mac_offline loc1']);
});

it('nodes that find the same open and close one issue', async () => {
  const { nodes, issues, events, pass } = await start('a', 'b');
  for (const { state } of nodes) state.found = broken('grant_revoked');
  await pass(90_000);
  expect(events).toHaveLength(1);
  expect(await issues.listOpen()).toHaveLength(1);
  for (const { state } of nodes) state.found = [];
  await pass(90_000);
  expect(events.map((event) => event.slice(2))).toEqual([
    'opened grant_revoked loc1',
    'closed grant_revoked loc1',
  ]);
});

it('a node does not close what another node still finds, and closes what a dead node left open', async () => {
  const { nodes, events, pass } = await start('a', 'b');
  const [a] = nodes;
  if (a === undefined) throw new Error('no node');
  a.state.found = broken('crm_rejecting');
  await pass(180_000);
  expect(events).toEqual(['a opened crm_rejecting loc1']);
  await a.watch.close();
  await pass(90_000);
  expect(events).toEqual(['a opened crm_rejecting loc1', 'b closed crm_rejecting loc1']);
});

it('changes nothing while nothing can be read', async () => {
  const { nodes, issues, events, pass } = await start('a');
  const [a] = nodes;
  if (a === undefined) throw new Error('no node');
  a.state.found = broken('grant_revoked');
  await pass(15_000);
  a.state.isDown = true;
  await pass(120_000);
  expect(await issues.listOpen()).toHaveLength(1);
  a.state.isDown = false;
  await pass(15_000);
  expect(events).toEqual(['a opened grant_revoked loc1']);
});

it.each([
  { tookMs: 100, everySec: 15 },
  { tookMs: 300, everySec: 30 },
  { tookMs: 2000, everySec: 30 },
])('checks every $everySec seconds when a check takes $tookMs ms', async ({ tookMs, everySec }) => {
  const clock = new FakeClock();
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  cleanup.add(() => database.close());
  let spentMs = 0;
  const checkedAt: number[] = [];
  const watch = new IssueWatch({
    issues: createIssues({ db: database.db, clock }),
    find: async () => {
      checkedAt.push(clock.monotonic());
      spentMs += tookMs;
      return [];
    },
    isUndecided: () => false,
    node: 'a',
    clock: { ...bound(clock), monotonic: () => clock.monotonic() + spentMs },
    log: silentLog,
    changed: () => {},
    checked: () => {},
  });
  cleanup.add(() => watch.close());
  for (let second = 0; second < 300; second++) {
    await clock.advance(1000);
    await watch.idle();
  }
  const gaps = checkedAt.slice(1).map((time, index) => time - (checkedAt[index] ?? 0));
  expect(new Set(gaps)).toEqual(new Set([everySec * 1000]));
});
