import { FakeClock } from '@footbridge/testkit/fake-clock';
import { beforeEach, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import type { Finding } from '../../platform/findings.ts';
import { onBothDatabases } from '../../platform/sql/on-both-databases.fixture.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { createIssues, SAME_ISSUE_MS } from './issues-sql.ts';
import type { Issue, Issues } from './issues-sql.ts';

const finding = (subject: string, changed: Partial<Finding> = {}): Finding => ({
  kind: 'mac_offline',
  subject,
  locationIds: [subject],
  sentence: 'The Mac is not connected.',
  action: 'Switch it on.',
  since: null,
  ...changed,
});

onBothDatabases('issues', (open) => {
  let database: OpenDatabase;
  let clock: FakeClock;
  let issues: Issues;
  beforeEach(async () => {
    database = await open();
    clock = new FakeClock();
    issues = createIssues({ db: database.db, clock });
  });

  it('one issue opens per kind and subject, whichever node finds it first', async () => {
    const [first] = await issues.open([finding('loc1', { since: 5 })], 'a');
    expect(first).toMatchObject({ subject: 'loc1', since: 5, openedAt: clock.now(), seenBy: 'a' });
    const second = await issues.open([finding('loc1'), finding('loc2', { locationIds: null })], 'b');
    expect(second.map(({ subject, since }) => [subject, since])).toEqual([['loc2', clock.now()]]);
    const other = await issues.open([finding('loc1', { kind: 'queue_old' })], 'a');
    expect(other).toHaveLength(1);
    expect(
      (await issues.listOpen()).map(({ kind, subject, locationIds }) => [kind, subject, locationIds]),
    ).toEqual(
      expect.arrayContaining([
        ['mac_offline', 'loc1', ['loc1']],
        ['queue_old', 'loc1', ['loc1']],
        ['mac_offline', 'loc2', null],
      ]),
    );
  });

  it('many issues open at once', async () => {
    const many = Array.from({ length: 450 }, (_, index) => finding(`loc${index}`));
    expect(await issues.open(many, 'a')).toHaveLength(450);
    expect(await issues.open(many, 'b')).toEqual([]);
  });

  it('an issue closes once, and reopens under the same id within an hour', async () => {
    const [first] = await issues.open([finding('loc1')], 'a');
    const id = first?.id ?? '';
    await clock.advance(1000);
    expect((await issues.close([id])).map(({ closedAt }) => closedAt)).toEqual([clock.now()]);
    expect(await issues.close([id])).toEqual([]);
    expect(await issues.listOpen()).toEqual([]);
    expect((await issues.listClosed({ limit: 10 })).map((issue) => issue.id)).toEqual([id]);
    await clock.advance(SAME_ISSUE_MS - 1);
    const words = { sentence: 'Other', locationIds: ['loc1', 'loc2'], licenseId: 'lic_1' };
    const found = [finding('loc1', words), finding('loc2')];
    const [both, other] = await Promise.all([issues.open(found, 'a'), issues.open(found, 'b')]);
    expect([...both, ...other].map(({ subject }) => subject).toSorted()).toEqual(['loc1', 'loc2']);
    const again = {
      id,
      ...words,
      since: first?.since,
      openedAt: first?.openedAt,
      closedAt: null,
      reopened: 1,
    };
    expect(await issues.listOpen()).toEqual(expect.arrayContaining([expect.objectContaining(again)]));
    await issues.close([id]);
    await clock.advance(SAME_ISSUE_MS);
    const [anew] = await issues.open([finding('loc1')], 'a');
    expect(anew).toMatchObject({ reopened: 0, openedAt: clock.now(), licenseId: null });
    expect(anew?.id).not.toBe(id);
  });

  it('an issue names the node that confirmed it, and has the newest wording', async () => {
    const [first] = await issues.open([finding('loc1')], 'a');
    const id = first?.id ?? '';
    await clock.advance(1000);
    await issues.confirm([id], 'b');
    await issues.reword(id, { sentence: 'Other', action: 'words.', locationIds: ['loc1', 'loc2'] });
    expect(await issues.listOpen()).toMatchObject([
      {
        id,
        seenBy: 'b',
        seenAt: clock.now(),
        sentence: 'Other',
        action: 'words.',
        locationIds: ['loc1', 'loc2'],
      },
    ]);
  });

  it('pruning deletes issues that were closed long ago, never open ones', async () => {
    const [first] = await issues.open([finding('loc1'), finding('loc2')], 'a');
    await issues.close([first?.id ?? '']);
    await clock.advance(1000);
    await issues.prune(clock.now());
    expect(await issues.listClosed({ limit: 10 })).toEqual([]);
    expect(await issues.listOpen()).toHaveLength(1);
  });

  it('the pages of open and of closed issues have each issue once and in order', async () => {
    for (let count = 0; count < 5; count++) {
      // Two issues each have the same time.
      if (count % 2 === 0) await clock.advance(1000);
      await issues.open([finding(`loc${count}`)], 'a');
    }
    const all = await issues.listOpen();
    const pages: Issue[] = [];
    for (let last: Issue | undefined; ; last = pages.at(-1)) {
      const after = last && { at: last.since, id: last.id };
      const page = await issues.listOpen({ limit: 2, after });
      pages.push(...page);
      if (page.length < 2) break;
    }
    expect(pages).toEqual(all);

    await issues.close(all.slice(0, 3).map(({ id }) => id));
    await clock.advance(1000);
    await issues.close(all.slice(3).map(({ id }) => id));
    const closed = await issues.listClosed({ limit: 10 });
    expect(closed).toHaveLength(5);
    const closedPages: Issue[] = [];
    for (let last: Issue | undefined; ; last = closedPages.at(-1)) {
      const after = last && { at: last.closedAt ?? 0, id: last.id };
      const page = await issues.listClosed({ limit: 2, after });
      closedPages.push(...page);
      if (page.length < 2) break;
    }
    expect(closedPages).toEqual(closed);
  });

  it('a list rejects with EngineError when the database is unavailable', async () => {
    await database.close();
    await expect(issues.listOpen()).rejects.toBeInstanceOf(EngineError);
  });
});
