/**
 * Hashes of signed requests that were handled, so that a repeat is recognised on every node and after a restart (T1, T66).
 *
 * - `add` keeps a hash until `expiresAt`. Adding it again extends that.
 * - `prune` removes expired hashes and, beyond a maximum number, those that expire first.
 * - Every method rejects with EngineError when the database is unavailable.
 */
export interface SeenRequests {
  has(hash: string): Promise<boolean>;
  add(hash: string, expiresAt: number): Promise<void>;
  prune(): Promise<void>;
}
