import { randomUUID } from 'node:crypto';

import type { Clock } from '@footbridge/runtime/clock';
import { sql } from 'kysely';
import type { Generated, Selectable } from 'kysely';

import { batches } from '../../platform/batcher.ts';
import type { Finding } from '../../platform/findings.ts';
import { guarded, readStored, TEXTS } from '../../platform/sql/queries.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { Schema } from '../../platform/sql/schema.ts';
import type { TimedPage } from '../../platform/timed-page.ts';

declare module '../../platform/sql/schema.ts' {
  interface Schema {
    /** Open and closed issues. At most one open issue (without `closed_at`) per kind and subject. */
    issues: {
      id: string;
      kind: string;
      subject: string;
      /** JSON list of location ids, or null for all. */
      locations: string | null;
      sentence: string;
      action: string;
      since: number;
      opened_at: number;
      closed_at: number | null;
      /** The node that found it last, and when. */
      seen_by: string;
      seen_at: number;
      /** The license that it affects. Null: none, or several. */
      license_id: Generated<string | null>;
      /** How often it reopened soon after it was closed. */
      reopened: Generated<number>;
    };
  }
}

/** An issue that opens again within this time after it was closed is the same one. */
export const SAME_ISSUE_MS = 3_600_000;

export interface Issue extends Finding {
  readonly id: string;
  readonly since: number;
  readonly openedAt: number;
  /** Null while it is open. */
  readonly closedAt: number | null;
  /** The node that found it last, and when. */
  readonly seenBy: string;
  readonly seenAt: number;
  /** How often it reopened. */
  readonly reopened: number;
}

type Row = Selectable<Schema['issues']>;

const queried = guarded('issues cannot be read or changed');

/** The issues of all nodes. */
export function createIssues({ db, clock }: { db: Database; clock: Clock }) {
  return {
    /**
     * Opens an issue for each finding without an open issue of its kind and subject. Resolves with the issues that this call opened: of
     * several nodes with the same finding, one opens it. An issue that was closed less than `SAME_ISSUE_MS` ago reopens under the same id.
     */
    open: (findings: readonly Finding[], node: string): Promise<Issue[]> =>
      queried(async () => {
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

    /** Records that a node still finds these open issues. */
    confirm: (ids: readonly string[], node: string): Promise<void> =>
      queried(async () => {
        for (const some of batches(ids))
          await db
            .updateTable('issues')
            .set({ seen_by: node, seen_at: clock.now() })
            .where('id', 'in', some)
            .execute();
      }),

    /** Replaces the sentence and action of an issue with those of a newer finding. */
    reword: (
      id: string,
      { sentence, action, locationIds }: Pick<Finding, 'sentence' | 'action' | 'locationIds'>,
    ): Promise<void> =>
      queried(async () => {
        await db
          .updateTable('issues')
          .set({ sentence, action, locations: locationsText(locationIds) })
          .where('id', '=', id)
          .execute();
      }),

    /** Resolves with the issues that this call closed: of several nodes, one closes an issue. */
    close: (ids: readonly string[]): Promise<Issue[]> =>
      queried(async () => {
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

    /** Lists all issues or a page, the oldest first. Places are ordered by the time when an issue began. */
    listOpen: (page?: TimedPage): Promise<Issue[]> =>
      queried(async () => {
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

    /** Lists a page, the most recently closed first. Places are ordered by the time when an issue was closed. */
    listClosed: ({ limit, after }: TimedPage): Promise<Issue[]> =>
      queried(async () => {
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

    /** Deletes issues that were closed before this time. */
    prune: (closedBefore: number): Promise<void> =>
      queried(async () => {
        await db.deleteFrom('issues').where('closed_at', '<', closedBefore).execute();
      }),
  };
}

const keyOf = ({ kind, subject }: Pick<Finding, 'kind' | 'subject'>) => `${kind} ${subject}`;

/** Reopens the recently closed issues of these findings. */
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

export type Issues = ReturnType<typeof createIssues>;
