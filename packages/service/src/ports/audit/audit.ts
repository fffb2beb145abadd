/** Ids, states and numbers; never a key, token or text of a message. */
export type AuditDetail = Readonly<Record<string, string | number | boolean | null>>;

/** What somebody did: `license.created`, `device.revoked`, `location.assigned`, `key.added` … */
export interface AuditRecord {
  /** `operator`, or `mac` for what a Mac did with its license. */
  readonly actor: 'operator' | 'mac';
  readonly action: string;
  /** The id of what it was done to. */
  readonly target: string;
  readonly detail?: AuditDetail;
}

export interface AuditEntry extends AuditRecord {
  readonly id: string;
  readonly at: number;
}

/**
 * Who did what, when. Entries are only ever added.
 *
 * - `record` resolves once the entry is stored and rejects with EngineError when it cannot be.
 * - `list` gives the newest first; `before` is the id of the last entry of the page before.
 */
export interface Audit {
  record(record: AuditRecord): Promise<void>;
  list(page: { limit: number; before?: string }): Promise<AuditEntry[]>;
}
