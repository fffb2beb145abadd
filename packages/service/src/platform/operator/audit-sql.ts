import { newRequestId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';

import { EngineError } from '../errors.ts';
import type { Database } from '../sql/open-database.ts';
import type { Audit, AuditDetail, AuditEntry, AuditRecord } from './audit.ts';

export function createSqlAudit({ db, clock }: { db: Database; clock: Clock }): Audit {
  return new SqlAudit(db, clock);
}

class SqlAudit implements Audit {
  readonly #db: Database;
  readonly #clock: Clock;
  #latest = 0;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  async record({ actor, name, action, target, detail }: AuditRecord): Promise<void> {
    const at = this.#clock.now();
    // Entries are ordered by their ids, which contain a time: it grows also within one millisecond.
    this.#latest = Math.max(at, this.#latest + 1);
    const entry = {
      id: newRequestId(this.#latest),
      at,
      actor,
      name,
      action,
      target,
      detail: JSON.stringify(detail ?? null),
    };
    try {
      await this.#db.insertInto('audit').values(entry).execute();
    } catch (cause) {
      throw new EngineError('sql', 'the audit log cannot be written: the database failed', cause);
    }
  }

  async list({ limit, before }: { limit: number; before?: string }): Promise<AuditEntry[]> {
    try {
      const newest = this.#db.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(limit);
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
    } catch (cause) {
      throw new EngineError('sql', 'the audit log cannot be read: the database failed', cause);
    }
  }
}

function detailOf(text: string | null): { detail?: AuditDetail } {
  const detail: AuditDetail | null = text === null ? null : JSON.parse(text);
  return detail === null ? {} : { detail };
}
