/** The result of a claim. */
export type GuidClaim = (
  | ClaimedGuid
  /** The CRM has the message. */
  | { readonly kind: 'sent' }
  /** Another process claimed the message at `claimedAt` and has not finished. */
  | { readonly kind: 'held'; readonly owner: string; readonly claimedAt: number }
) & {
  /** The id of the journal entry that the first claim stored. Null when an earlier version of the service made that claim. */
  readonly entryId: string | null;
};

/** This process delivers the message. */
export interface ClaimedGuid {
  readonly kind: 'claimed';
  /** An earlier attempt may have reached the CRM. */
  readonly uncertain: boolean;
  /** The message was rejected, and the Mac sent it again. */
  readonly isRedelivery: boolean;
  /** No attempt that may have reached the CRM was made earlier, by the clock of the process that claimed it. */
  readonly claimedAt: number;
}

export interface GuidKey {
  readonly locationId: string;
  readonly guid: string;
}

/**
 * Deduplicates inbound messages (I6): `(location, guid) → sending | sent | rejected | released`, claimed before the CRM is called and
 * marked afterwards.
 *
 * - Of simultaneous claims by several processes, exactly one process gets `claimed`. Any process can claim a rejected or released
 *   message.
 * - A process can repeat its own claim. With another `entryId` it is uncertain: the earlier delivery was neither marked nor released.
 * - `takeOver` claims a message whose owner has ended: it is uncertain. Resolves with false when the owner finished it or another
 *   process was faster.
 * - The first claim stores `entryId`. Every later one returns the stored id, until the message is pruned.
 * - A claim that has resolved survives a crash of this process.
 * - Claims of one turn of the event loop, and the `sent` marks of the last few milliseconds, share one transaction.
 * - Every method rejects with EngineError when the database is unavailable.
 */
export interface Guids {
  claim(key: GuidKey, entryId: string): Promise<GuidClaim>;
  takeOver(key: GuidKey, owner: string): Promise<boolean>;
  /**
   * Must resolve before the message is acknowledged to the Mac, which then forgets it. Without this mark, a lost message with the same
   * text in another chat would be matched to this message of the CRM after a crash (I9).
   */
  sent(key: GuidKey, crmMessageId: string): Promise<void>;
  /** The Mac keeps the message until it is told to send it again. `uncertain`: an attempt may have reached the CRM. */
  rejected(key: GuidKey, uncertain: boolean): Promise<void>;
  /** This process no longer delivers the message, and the Mac sends it again. `uncertain`: an attempt may have reached the CRM. */
  released(key: GuidKey, uncertain: boolean): Promise<void>;
  /** Resolves with those of the CRM's message ids that are recorded for other messages of the location: each accounts for one (I9). */
  recordedForOthers(key: GuidKey, crmMessageIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Deletes messages that were not changed for that long. Resolves with their number. */
  prune(olderThanMs: number): Promise<number>;
  /** Resolves when all pending calls are settled. */
  close(): Promise<void>;
}
