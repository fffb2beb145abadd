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

/**
 * The audit log: append-only.
 *
 * - `record` resolves when the entry is stored.
 * - `list` resolves with the newest entries first. `before` is the id of the last entry of the previous page.
 * - Both reject with EngineError when the database is unavailable.
 */
export interface Audit {
  record(record: AuditRecord): Promise<void>;
  list(page: { limit: number; before?: string }): Promise<AuditEntry[]>;
}
