/** The result of a claim. */
export type GuidClaim =
  /** This process delivers the message. `isNew`: never claimed before. `uncertain`: an earlier attempt may have reached the CRM. */
  | { readonly kind: 'claimed'; readonly isNew: boolean; readonly uncertain: boolean }
  /** The CRM has the message. */
  | { readonly kind: 'sent' }
  /** Another process claimed the message and has not finished. */
  | { readonly kind: 'held'; readonly owner: string };

export interface GuidKey {
  readonly locationId: string;
  readonly guid: string;
}

/**
 * Deduplicates inbound messages (I6): `(location, guid) → sending | sent | rejected`, claimed before the CRM is called and marked
 * afterwards.
 *
 * - Of simultaneous claims by several processes, exactly one process gets `claimed`. A process can claim its own message again,
 *   and any process can claim a rejected one.
 * - `takeOver` claims a message whose owner has ended and flags it as uncertain. Resolves with false when the owner finished it or
 *   another process was faster.
 * - A claim that has resolved survives a crash of this process.
 * - Claims of one turn of the event loop, and the marks of the last few milliseconds, share one transaction.
 * - Every method rejects with EngineError when the database is unavailable.
 */
export interface Guids {
  claim(key: GuidKey, epoch: number): Promise<GuidClaim>;
  takeOver(key: GuidKey, epoch: number, owner: string): Promise<boolean>;
  sent(key: GuidKey, crmMessageId: string): Promise<void>;
  /** The CRM rejected the message permanently. It can be claimed again when the Mac sends it again. */
  rejected(key: GuidKey): Promise<void>;
  /** Deletes messages that were not changed for that long. Resolves with their number. */
  prune(olderThanMs: number): Promise<number>;
  /** Resolves when all pending calls are settled. */
  close(): Promise<void>;
}
