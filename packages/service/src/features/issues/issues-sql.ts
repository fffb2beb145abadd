import { randomUUID } from 'node:crypto';

import type { Clock } from '@footbridge/runtime/clock';
import { sql } from 'kysely';
import type { Selectable } from 'kysely';

import { batches } from '../../platform/batcher.ts';
import { EngineError } from '../../platform/errors.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { Schema } from '../../platform/sql/schema.ts';
import { readStored, TEXTS } from '../../platform/sql/stored-json.ts';
import { SAME_ISSUE_MS } from './issues.ts';
import type { Finding } from '../../platform/findings.ts';
import type { Issue, Issues } from './issues.ts';

type Row = Selectable<Schema['issues']>;

export function createSqlIssues({ db, clock }: { db: Database; clock: Clock }): Issues {
  return {
    open: (findings, node) =>
      withEngineError(async () => {
        if (findings.length === 0) return [];
        const opened = await openAgain(db, findings, node, clock.now());
        const again = new Set(opened.map(keyOf));
        for (const some of batches(findings.filter((finding) => !again.has(keyOf(finding))))) {
          const rows = await db
            .insertInto('issues')
            .values(some.map((finding) => rowOf(finding, node, clock.now())))
            .onConflict((conflict) => conflict.doNothing())
            .returningAll()
            .execute();
          opened.push(...rows.map(issueOf));
        }
        return opened;
      }),

    confirm: (ids, node) =>
      withEngineError(async () => {
        for (const some of batches(ids))
          await db
            .updateTable('issues')
            .set({ seen_by: node, seen_at: clock.now() })
            .where('id', 'in', some)
            .execute();
      }),

    reword: (id, { sentence, action, locationIds }) =>
      withEngineError(async () => {
        await db
          .updateTable('issues')
          .set({ sentence, action, locations: locationsText(locationIds) })
          .where('id', '=', id)
          .execute();
      }),

    close: (ids) =>
      withEngineError(async () => {
        const closed: Issue[] = [];
        for (const some of batches(ids)) {
          const rows = await db
            .updateTable('issues')
            .set({ closed_at: clock.now() })
            .where('id', 'in', some)
            .where('closed_at', 'is', null)
            .returningAll()
            .execute();
          closed.push(...rows.map(issueOf));
        }
        return closed;
      }),

    listOpen: (page) =>
      withEngineError(async () => {
        let query = db
          .selectFrom('issues')
          .selectAll()
          .where('closed_at', 'is', null)
          .orderBy('since')
          .orderBy('id');
        if (page !== undefined) query = query.limit(page.limit);
        if (page?.after !== undefined) {
          const { at, id } = page.after;
          query = query.where(sql<boolean>`(since, id) > (${at}, ${id})`);
        }
        return (await query.execute()).map(issueOf);
      }),

    listClosed: ({ limit, after }) =>
      withEngineError(async () => {
        const page = db
          .selectFrom('issues')
          .selectAll()
          .where('closed_at', 'is not', null)
          .orderBy('closed_at', 'desc')
          .orderBy('id', 'desc')
          .limit(limit);
        const rows = await (
          after === undefined ? page : page.where(sql<boolean>`(closed_at, id) < (${after.at}, ${after.id})`)
        ).execute();
        return rows.map(issueOf);
      }),

    prune: (closedBefore) =>
      withEngineError(async () => {
        await db.deleteFrom('issues').where('closed_at', '<', closedBefore).execute();
      }),
  };
}

const keyOf = ({ kind, subject }: Pick<Finding, 'kind' | 'subject'>) => `${kind} ${subject}`;

/** Opens those of the findings again that were closed a short time ago. */
async function openAgain(
  db: Database,
  findings: readonly Finding[],
  node: string,
  at: number,
): Promise<Issue[]> {
  const closed = await db
    .selectFrom('issues')
    .select(['id', 'kind', 'subject'])
    .where('closed_at', '>', at - SAME_ISSUE_MS)
    .orderBy('closed_at')
    .execute();
  const ids = new Map(closed.map(({ id, kind, subject }) => [`${kind} ${subject}`, id]));
  const opened: Issue[] = [];
  for (const finding of findings) {
    const id = ids.get(keyOf(finding));
    if (id === undefined) continue;
    const { kind, subject, sentence, action, locationIds, licenseId = null } = finding;
    const row = await db
      .updateTable('issues')
      .set((is) => ({
        closed_at: null,
        reopened: is('reopened', '+', 1),
        sentence,
        action,
        locations: locationsText(locationIds),
        license_id: licenseId,
        seen_by: node,
        seen_at: at,
      }))
      .where('id', '=', id)
      // Another node may have been first.
      .where('closed_at', 'is not', null)
      .where((is) =>
        is.not(
          is.exists(
            is
              .selectFrom('issues as open')
              .select('open.id')
              .where('open.kind', '=', kind)
              .where('open.subject', '=', subject)
              .where('open.closed_at', 'is', null),
          ),
        ),
      )
      .returningAll()
      .executeTakeFirst();
    if (row !== undefined) opened.push(issueOf(row));
  }
  return opened;
}

const locationsText = (ids: readonly string[] | null) => (ids === null ? null : JSON.stringify(ids));

const rowOf = (finding: Finding, node: string, at: number): Row => ({
  id: randomUUID(),
  kind: finding.kind,
  subject: finding.subject,
  locations: locationsText(finding.locationIds),
  sentence: finding.sentence,
  action: finding.action,
  since: finding.since ?? at,
  opened_at: at,
  closed_at: null,
  seen_by: node,
  seen_at: at,
  license_id: finding.licenseId ?? null,
  reopened: 0,
});

const issueOf = (row: Row): Issue => ({
  id: row.id,
  kind: row.kind,
  subject: row.subject,
  locationIds: row.locations === null ? null : readStored(TEXTS, row.locations),
  sentence: row.sentence,
  action: row.action,
  since: row.since,
  openedAt: row.opened_at,
  closedAt: row.closed_at,
  seenBy: row.seen_by,
  seenAt: row.seen_at,
  licenseId: row.license_id,
  reopened: row.reopened,
});

async function withEngineError<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    throw new EngineError('sql', 'issues cannot be read or changed', error);
  }
}
