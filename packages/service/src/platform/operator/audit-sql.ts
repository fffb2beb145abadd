import { newRequestId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';

import { guarded } from '../sql/queries.ts';
import type { Database } from '../sql/open-database.ts';

/** Ids, states and numbers, never a key, a token or the text of a message. */
export type AuditDetail = Readonly<Record<string, string | number | boolean | null>>;

export interface AuditRecord {
  /** `mac` for an action of a Mac with its license. */
  readonly actor: 'operator' | 'mac';
  /** The label of the operator's token; null for a Mac. */
  readonly name: string | null;
  /** `license.created`, `device.revoked`, `location.assigned`, `key.added` … */
  readonly action: string;
  /** The id of the changed object. */
  readonly target: string;
  readonly detail?: AuditDetail;
}

export interface AuditEntry extends AuditRecord {
  readonly id: string;
  readonly at: number;
}

const written = guarded('the audit log cannot be written: the database failed');
const queried = guarded('the audit log cannot be read: the database failed');

/** The audit log: append-only. */
export function createAudit({ db, clock }: { db: Database; clock: Clock }) {
  let latest = 0;
  return {
    /** Resolves when the entry is stored. */
    record: ({ actor, name, action, target, detail }: AuditRecord): Promise<void> =>
      written(async () => {
        const at = clock.now();
        // Entries are ordered by their ids, which contain a time: it grows also within one millisecond.
        latest = Math.max(at, latest + 1);
        await db
          .insertInto('audit')
          .values({
            id: newRequestId(latest),
            at,
            actor,
            name,
            action,
            target,
            detail: JSON.stringify(detail ?? null),
          })
          .execute();
      }),

    /** Resolves with the newest entries first. `before`: the id of the last entry of the previous page. */
    list: ({ limit, before }: { limit: number; before?: string }): Promise<AuditEntry[]> =>
      queried(async () => {
        const newest = db.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(limit);
        const rows = await (before === undefined ? newest : newest.where('id', '<', before)).execute();
        return rows.map(({ id, at, actor, name, action, target, detail }) => ({
          id,
          at,
          actor: actor === 'mac' ? 'mac' : 'operator',
          name,
          action,
          target,
          ...detailOf(detail),
        }));
      }),
  };
}

function detailOf(text: string | null): { detail?: AuditDetail } {
  const detail: AuditDetail | null = text === null ? null : JSON.parse(text);
  return detail === null ? {} : { detail };
}

export type Audit = ReturnType<typeof createAudit>;
