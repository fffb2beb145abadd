import type { TimedPage } from '../timed-page.ts';

/** A token that the operator created for another user. `locations` is null for a token that sees all of them. */
export interface OperatorToken {
  readonly id: string;
  readonly label: string;
  readonly readOnly: boolean;
  readonly locations: readonly string[] | null;
  readonly createdAt: number;
}

export interface NewOperatorToken extends Pick<OperatorToken, 'label' | 'readOnly' | 'locations'> {
  readonly tokenHash: string;
}

/** A browser that signed in with a token. */
export interface OperatorSession {
  /** The hash of the token that it signed in with. */
  readonly tokenHash: string;
  readonly createdAt: number;
  readonly lastSeenAt: number;
}

/**
 * Operator tokens, browser sessions and codes that sign a browser in once. Only hashes are stored.
 *
 * - `removeToken` also ends the sessions of that token.
 * - `touchSession` records activity; it does nothing when the session has ended.
 * - `takeSignInCode` resolves with the hash of the token that created the code, at most once and never after it has expired.
 * - `prune` deletes sessions that were last seen, or created, before the given times, and expired codes.
 * - Every method rejects with EngineError when the database is unavailable.
 */
export interface Operators {
  addToken(token: NewOperatorToken): Promise<OperatorToken>;
  /** Lists a page of the tokens, by their creation and id. */
  listTokens(page: TimedPage): Promise<OperatorToken[]>;
  findToken(tokenHash: string): Promise<OperatorToken | undefined>;
  removeToken(id: string): Promise<boolean>;
  addSession(idHash: string, tokenHash: string): Promise<void>;
  findSession(idHash: string): Promise<OperatorSession | undefined>;
  touchSession(idHash: string): Promise<void>;
  removeSession(idHash: string): Promise<void>;
  addSignInCode(codeHash: string, tokenHash: string, expiresAt: number): Promise<void>;
  takeSignInCode(codeHash: string): Promise<string | undefined>;
  prune(before: { readonly lastSeen: number; readonly created: number }): Promise<void>;
}
