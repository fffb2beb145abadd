/** What is known of an inbound message when it is claimed. */
export type Claim =
  /** Ours to deliver. `isNew`: never seen before. `uncertain`: an earlier attempt may have reached the CRM. */
  | { readonly kind: 'claimed'; readonly isNew: boolean; readonly uncertain: boolean }
  /** The CRM has it. */
  | { readonly kind: 'sent' }
  /** Another process claimed it and has not finished. */
  | { readonly kind: 'held'; readonly owner: string };

export interface GuidKey {
  readonly locationId: string;
  readonly guid: string;
}

/**
 * The memory of inbound messages: `(location, guid) → sending | sent | rejected`, claimed before the CRM is called and marked after.
 *
 * - Of any number of simultaneous claims, over all processes, exactly one is answered `claimed`. A process that claims again what it
 *   claimed itself, or what was rejected, gets it.
 * - `takeOver` gets a claim whose owner is gone, flagged uncertain; false when the owner finished it or another process was faster.
 * - A claim, once answered, outlives a crash of this process.
 * - Claims of the same turn of the event loop, and the marks of the last few milliseconds, share one transaction.
 * - Rejects with EngineError when the store is away.
 */
export interface Guids {
  claim(key: GuidKey, epoch: number): Promise<Claim>;
  takeOver(key: GuidKey, epoch: number, owner: string): Promise<boolean>;
  sent(key: GuidKey, crmMessageId: string): Promise<void>;
  /** The CRM refused it for good. It may be claimed again when the Mac sends it again. */
  rejected(key: GuidKey): Promise<void>;
  /** Forgets what was not touched for that long; answers how many. */
  prune(olderThanMs: number): Promise<number>;
  /** Resolves when everything asked so far is answered. */
  close(): Promise<void>;
}
