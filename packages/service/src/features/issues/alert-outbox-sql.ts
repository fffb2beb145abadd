import { randomUUID } from 'node:crypto';

import { list, nullable, object } from '@footbridge/protocol/schema';
import type { Clock } from '@footbridge/runtime/clock';
import { sql } from 'kysely';
import type { Selectable, Transaction } from 'kysely';

import { batches } from '../../platform/batcher.ts';
import { guarded, readStored, TEXTS } from '../../platform/sql/queries.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { Schema } from '../../platform/sql/schema.ts';
import { SAME_ISSUE_MS } from './issues-sql.ts';
import { MAX_LOCATIONS, MAX_TIMES_AN_HOUR } from './alerts.ts';
import type { Alert, AlertedChange, AlertedIssue, ReceiverName } from './alerts.ts';

declare module '../../platform/sql/schema.ts' {
  interface Schema {
    /** Alerts by receiver. Those without `done_at` are still to be sent, in the order of `seq`. */
    alerts: {
      id: string;
      receiver: string;
      seq: number;
      /** JSON list of changes with their issues. */
      changes: string;
      created_at: number;
      attempts: number;
      next_at: number;
      claimed_by: string | null;
      claimed_until: number;
      done_at: number | null;
      outcome: 'sent' | 'given_up' | null;
      error: string | null;
    };
    /** The changes of issues for which a receiver has an alert: `opened`, `closed`, or `closed-`, `reopened-` or `reminder-` and a number. */
    alert_changes: { receiver: string; issue_id: string; change: string; at: number };
    /** When each receiver was first used. */
    alert_receivers: { receiver: string; since: number };
  }
}

export interface EnqueueOptions {
  /** An issue that is still open this long after its last alert gets a reminder; null: never. */
  readonly reminderMs: number | null;
  /** Divides the changes of one moment into alerts. Every change must be in exactly one of them. */
  readonly group: (changes: Alert['changes']) => readonly Alert['changes'][];
}

export interface ClaimedAlert {
  readonly alert: Alert;
  /** The attempts so far, without this one. */
  readonly attempts: number;
  readonly createdAt: number;
}

/** What is known about the alerts of a receiver. */
export interface ReceiverState {
  readonly pending: number;
  readonly lastSentAt: number | null;
  /** Why the last attempt for the oldest alert failed, if it did. */
  readonly lastError: string | null;
}

type IssueRow = Selectable<Schema['issues']>;

/** A change of an issue that has no alert yet. `key` tells reminders apart. */
interface Change {
  readonly change: AlertedChange;
  readonly key: string;
  readonly row: IssueRow;
  /** When it happened. */
  readonly at: number;
}

interface Wanted {
  readonly receiver: ReceiverName;
  readonly reminderMs: number | null;
  readonly now: number;
  /** Licenses whose changes are held back. */
  readonly without: readonly string[];
}

/** Much longer than an attempt: the clocks of nodes may differ by minutes. */
export const CLAIM_MS = 300_000;
/** Older changes are not news. Longer than quiet hours. */
const MAX_AGE_MS = 3 * 86_400_000;
/** Changes taken in one transaction. The next call takes the others. */
const MAX_CHANGES = 1000;
const HOUR_MS = 3_600_000;
/** A change that has waited this long was held back: others are reported within seconds. */
const HELD_MS = 30_000;

export interface AlertOutboxDeps {
  readonly db: Database;
  readonly clock: Clock;
  /** Whether other nodes use the database. If not, any other process with a claim has ended. */
  readonly otherNodes: boolean;
}

const queried = guarded('alerts cannot be read or changed');

/** The alerts that wait for their receivers, shared by all nodes. */
export function createAlertOutbox({ db, clock, otherNodes }: AlertOutboxDeps) {
  return {
    /**
     * Creates alerts for changes of issues that have none for this receiver. A change gets one alert per receiver, on any number of nodes
     * and after any crash: both are written in one transaction. A new receiver is told about open issues only. An issue that reopens is
     * reported once more as a reminder, and as closed after `SAME_ISSUE_MS`. After `MAX_TIMES_AN_HOUR` alerts about a license within an
     * hour, its further changes wait.
     */
    enqueue: (receiver: ReceiverName, options: EnqueueOptions): Promise<void> =>
      queried(async () => {
        const { reminderMs, group } = options;
        const now = clock.now();
        const all = await dueChanges(db, { receiver, reminderMs, now, without: [] });
        if (all.length === 0) return;
        const times = await timesTold(db, receiver, now);
        const without = [...times.keys()].filter((id) => (times.get(id) ?? 0) >= MAX_TIMES_AN_HOUR);
        // Read again: held-back changes may have filled the limit.
        const due = without.length === 0 ? all : await dueChanges(db, { receiver, reminderMs, now, without });
        const isHeldBack = ({ row, at }: Change) =>
          (times.get(row.license_id ?? '') ?? 0) >= MAX_TIMES_AN_HOUR - 1 && at <= now - HELD_MS;
        await db.transaction().execute((tx) => add(tx, receiver, due, { group, isHeldBack }, now));
      }),

    /**
     * Resolves with the oldest unsent alert of a receiver, if it is due and no other node has claimed it. Alerts of a receiver are therefore
     * sent one at a time, in order. A claim ends with `sent`, `failed` or `giveUp`, or after `CLAIM_MS` when its node is gone; without other
     * nodes, it ends as soon as its process is gone.
     */
    claim: (receiver: ReceiverName, node: string): Promise<ClaimedAlert | undefined> =>
      queried(async () => {
        const now = clock.now();
        const oldest = await db
          .selectFrom('alerts')
          .select('id')
          .where('receiver', '=', receiver)
          .where('done_at', 'is', null)
          .orderBy('seq')
          .orderBy('id')
          .limit(1)
          .executeTakeFirst();
        if (oldest === undefined) return undefined;
        const row = await db
          .updateTable('alerts')
          .set({ claimed_by: node, claimed_until: now + CLAIM_MS })
          .where('id', '=', oldest.id)
          .where('done_at', 'is', null)
          .where('next_at', '<=', now)
          .where((is) =>
            is.or([
              is('claimed_until', '<=', now),
              ...(otherNodes ? [] : [is('claimed_by', 'is distinct from', node)]),
            ]),
          )
          .returningAll()
          .executeTakeFirst();
        if (row === undefined) return undefined;
        const { id, created_at: createdAt, attempts, changes } = row;
        return {
          alert: { id, at: createdAt, changes: readStored(CHANGES, changes) },
          attempts,
          createdAt,
        };
      }),

    sent: (id: string): Promise<void> =>
      queried(async () => {
        await db
          .updateTable('alerts')
          .set({ done_at: clock.now(), outcome: 'sent', error: null, claimed_until: 0 })
          .where('id', '=', id)
          .execute();
      }),

    failed: (id: string, reason: string, retryInMs: number): Promise<void> =>
      queried(async () => {
        await db
          .updateTable('alerts')
          .set((eb) => ({
            attempts: eb('attempts', '+', 1),
            next_at: clock.now() + retryInMs,
            error: reason,
            claimed_until: 0,
          }))
          .where('id', '=', id)
          .execute();
      }),

    giveUp: (id: string, reason: string): Promise<void> =>
      queried(async () => {
        await db
          .updateTable('alerts')
          .set({ done_at: clock.now(), outcome: 'given_up', error: reason, claimed_until: 0 })
          .where('id', '=', id)
          .execute();
      }),

    stateOf: (receiver: ReceiverName): Promise<ReceiverState> =>
      queried(async () => {
        const waiting = await db
          .selectFrom('alerts')
          .select((eb) => eb.fn.countAll().as('count'))
          .where('receiver', '=', receiver)
          .where('done_at', 'is', null)
          .executeTakeFirst();
        const newest = await db
          .selectFrom('alerts')
          .select((eb) => eb.fn.max('done_at').as('at'))
          .where('receiver', '=', receiver)
          .where('outcome', '=', 'sent')
          .executeTakeFirst();
        const oldest = await db
          .selectFrom('alerts')
          .select('error')
          .where('receiver', '=', receiver)
          .where('done_at', 'is', null)
          .orderBy('seq')
          .limit(1)
          .executeTakeFirst();
        return {
          pending: Number(waiting?.count ?? 0),
          lastSentAt: newest?.at ?? null,
          lastError: oldest?.error ?? null,
        };
      }),

    /** Deletes alerts that were sent or given up before this time, and the changes of issues that no longer exist. */
    prune: (before: number): Promise<void> =>
      queried(async () => {
        await db.deleteFrom('alerts').where('done_at', '<', before).execute();
        await db
          .deleteFrom('alert_changes')
          .where('issue_id', 'not in', (eb) => eb.selectFrom('issues').select('id'))
          .execute();
      }),
  };
}

/** Returns the changes of issues that this receiver was not told about, oldest first. */
async function dueChanges(db: Database, wanted: Wanted): Promise<Change[]> {
  const { receiver, now } = wanted;
  const since = await firstUse(db, receiver, now);
  const told = (pattern: string) =>
    sql<number>`(SELECT count(*) FROM alert_changes c WHERE c.receiver = ${receiver} AND c.issue_id = issues.id AND c.change LIKE ${pattern})`;
  const recent = now - MAX_AGE_MS;
  const issues = about(db, wanted.without);
  const opened = await issues
    .where((eb) =>
      eb.or([
        eb('closed_at', 'is', null),
        eb.and([eb('closed_at', '>=', recent), eb('opened_at', '>=', since)]),
      ]),
    )
    .where(told('opened'), '=', 0)
    .orderBy('opened_at')
    .orderBy('id')
    .limit(MAX_CHANGES)
    .execute();
  const untold = new Set(opened.map(({ id }) => id));
  const openedAgain = await issues
    .select(told('closed%').as('closes'))
    .where('reopened', '>', 0)
    .where('closed_at', 'is', null)
    .where(told('closed%'), '>', told('reopened-%'))
    .orderBy('opened_at')
    .orderBy('id')
    .execute();
  const closed = await issues
    .select(told('closed%').as('closes'))
    .where('closed_at', '>=', recent)
    // A reopened issue may open once more, so its end is reported late.
    .where((eb) => eb.or([eb('reopened', '=', 0), eb('closed_at', '<=', now - SAME_ISSUE_MS)]))
    .where(told('closed%'), '<=', told('reopened-%'))
    .orderBy('closed_at')
    .orderBy('id')
    .execute();
  const known = await toldAbout(
    db,
    receiver,
    closed.map(({ id }) => id),
  );
  return [
    ...opened.map((row) => ({
      change: 'opened' as const,
      key: 'opened',
      row: { ...row, closed_at: null },
      at: row.opened_at,
    })),
    ...openedAgain.map(({ closes, ...row }) => ({
      change: 'reminder' as const,
      key: `reopened-${closes}`,
      row,
      at: now,
    })),
    ...(await dueReminders(db, wanted)),
    ...closed
      .filter(({ id }) => untold.has(id) || known.has(id))
      .map(({ closes, ...row }) => ({
        change: 'closed' as const,
        key: closes === 0 ? 'closed' : `closed-${closes}`,
        row,
        at: row.closed_at ?? now,
      })),
  ].slice(0, MAX_CHANGES);
}

/** Selects the issues that do not affect one of these licenses alone. */
const about = (db: Database, without: readonly string[]) => {
  const all = db.selectFrom('issues').selectAll('issues');
  return without.length === 0
    ? all
    : all.where((eb) => eb.or([eb('license_id', 'is', null), eb('license_id', 'not in', without)]));
};

/** Returns how often the receiver was told about each license in the last hour. Changes of one moment count once. */
async function timesTold(
  db: Database,
  receiver: ReceiverName,
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('alert_changes')
    .innerJoin('issues', 'issues.id', 'alert_changes.issue_id')
    .select((eb) => ['issues.license_id', eb.fn.count('alert_changes.at').distinct().as('times')])
    .where('alert_changes.receiver', '=', receiver)
    .where('alert_changes.at', '>', now - HOUR_MS)
    .where('issues.license_id', 'is not', null)
    .groupBy('issues.license_id')
    .execute();
  return new Map(rows.map(({ license_id, times }) => [license_id ?? '', Number(times)]));
}

/** Records when this receiver was first used. */
async function firstUse(db: Database, receiver: ReceiverName, now: number): Promise<number> {
  await db
    .insertInto('alert_receivers')
    .values({ receiver, since: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { since } = await db
    .selectFrom('alert_receivers')
    .select('since')
    .where('receiver', '=', receiver)
    .executeTakeFirstOrThrow();
  return since;
}

async function toldAbout(
  db: Database,
  receiver: ReceiverName,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const told = new Set<string>();
  for (const some of batches(ids)) {
    const rows = await db
      .selectFrom('alert_changes')
      .select('issue_id')
      .where('receiver', '=', receiver)
      .where('change', '=', 'opened')
      .where('issue_id', 'in', some)
      .execute();
    for (const { issue_id } of rows) told.add(issue_id);
  }
  return told;
}

/** Of several reminders that were due during quiet hours or while the service was stopped, only the newest counts. */
async function dueReminders(db: Database, { receiver, reminderMs, now, without }: Wanted): Promise<Change[]> {
  if (reminderMs === null) return [];
  const rows = await about(db, without)
    .innerJoin('alert_changes', 'alert_changes.issue_id', 'issues.id')
    .select('alert_changes.at as told_at')
    .where('issues.closed_at', 'is', null)
    .where('alert_changes.receiver', '=', receiver)
    .where('alert_changes.change', '=', 'opened')
    .where('alert_changes.at', '<=', now - reminderMs)
    .execute();
  const due = rows.map(({ told_at, ...row }) => ({
    change: 'reminder' as const,
    key: `reminder-${Math.floor((now - told_at) / reminderMs)}`,
    row,
    at: now,
  }));
  const sentBefore = await reminded(
    db,
    receiver,
    due.map(({ row }) => row.id),
  );
  return due.filter(({ row, key }) => !sentBefore.has(`${row.id} ${key}`));
}

async function reminded(
  db: Database,
  receiver: ReceiverName,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  for (const some of batches(ids)) {
    const rows = await db
      .selectFrom('alert_changes')
      .select(['issue_id', 'change'])
      .where('receiver', '=', receiver)
      .where('issue_id', 'in', some)
      .execute();
    for (const { issue_id, change } of rows) keys.add(`${issue_id} ${change}`);
  }
  return keys;
}

/** Writes the changes that no other node has written meanwhile, and their alerts. */
async function add(
  tx: Transaction<Schema>,
  receiver: ReceiverName,
  due: readonly Change[],
  { group, isHeldBack }: Pick<EnqueueOptions, 'group'> & { readonly isHeldBack: (change: Change) => boolean },
  now: number,
): Promise<void> {
  const own = new Set<string>();
  for (const some of batches(due)) {
    const rows = await tx
      .insertInto('alert_changes')
      .values(some.map(({ key, row }) => ({ receiver, issue_id: row.id, change: key, at: now })))
      .onConflict((conflict) => conflict.doNothing())
      .returning(['issue_id', 'change'])
      .execute();
    for (const { issue_id, change } of rows) own.add(`${issue_id} ${change}`);
  }
  const changes = due
    .filter(({ key, row }) => own.has(`${row.id} ${key}`))
    .map((one) => ({
      change: one.change,
      issue: issueOf(one.row),
      ...(isHeldBack(one) && { heldBack: true }),
    }));
  if (changes.length === 0) return;
  const { last } = await tx
    .selectFrom('alerts')
    .select((eb) => eb.fn.max('seq').as('last'))
    .where('receiver', '=', receiver)
    .executeTakeFirstOrThrow();
  const rows = group(changes).map((some, index) => ({
    id: `alert_${randomUUID()}`,
    receiver,
    seq: (last ?? 0) + 1 + index,
    changes: JSON.stringify(some),
    created_at: now,
    attempts: 0,
    next_at: now,
    claimed_by: null,
    claimed_until: 0,
    done_at: null,
    outcome: null,
    error: null,
  }));
  for (const some of batches(rows)) await tx.insertInto('alerts').values(some).execute();
}

function issueOf(row: IssueRow): AlertedIssue {
  const all = row.locations === null ? null : readStored(TEXTS, row.locations);
  return {
    id: row.id,
    kind: row.kind,
    sentence: row.sentence,
    action: row.action,
    since: row.since,
    closedAt: row.closed_at,
    locationIds: all === null ? null : all.slice(0, MAX_LOCATIONS),
    affected: all === null ? null : all.length,
    reopened: row.reopened,
  };
}

const TEXT = { type: 'string' } as const;
const NUMBER = { type: 'number' } as const;
const CHANGES = list(
  object(
    {
      change: { type: 'string', enum: ['opened', 'closed', 'reminder'] },
      issue: object(
        {
          id: TEXT,
          kind: TEXT,
          sentence: TEXT,
          action: TEXT,
          since: NUMBER,
          closedAt: nullable(NUMBER),
          locationIds: nullable(TEXTS),
          affected: nullable(NUMBER),
        },
        { reopened: NUMBER },
      ),
    },
    { heldBack: { type: 'boolean' } },
  ),
);

export type AlertOutbox = ReturnType<typeof createAlertOutbox>;
