import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

import type { Clock } from '@footbridge/runtime/clock';

import type { OperatorSession, Operators, OperatorToken } from './operators-sql.ts';

/** Who makes a request, and what they may see and change. */
export interface Operator {
  /** The id of a token that the operator created; null for the operator's own token. */
  readonly tokenId: string | null;
  /** The hash of the token. */
  readonly tokenHash: string;
  readonly label: string;
  readonly readOnly: boolean;
  /** Null: all locations. */
  readonly locations: ReadonlySet<string> | null;
}

export interface SignedIn {
  readonly operator: Operator;
  /** The secret of the cookie. */
  readonly session: string;
  readonly csrf: string;
}

export interface OperatorAuthDeps {
  /** The token from the settings, or from its file. */
  readonly token: string;
  readonly operators: Operators;
  readonly clock: Clock;
}

const MINUTE_MS = 60_000;
export const SESSION_IDLE_MS = 60 * MINUTE_MS;
export const SESSION_MAX_MS = 12 * 60 * MINUTE_MS;
/** Activity is recorded at most this often. */
const TOUCH_MS = MINUTE_MS;
export const SIGN_IN_CODE_MS = MINUTE_MS;
const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** Recognises operators by a token or by the session of a browser. A changed or removed token ends its sessions. */
export class OperatorAuth {
  readonly #deps: OperatorAuthDeps;
  readonly #owner: Operator;

  constructor(deps: OperatorAuthDeps) {
    this.#deps = deps;
    this.#owner = {
      tokenId: null,
      tokenHash: hashOf(deps.token),
      label: 'Operator',
      readOnly: false,
      locations: null,
    };
  }

  async byToken(token: string): Promise<Operator | undefined> {
    return token === '' ? undefined : await this.#byHash(hashOf(token));
  }

  async signIn(token: string): Promise<SignedIn | undefined> {
    return await this.#startSession(await this.byToken(token));
  }

  /** Creates a code that signs a browser in once, within a minute, as this operator. */
  async createSignInCode({ tokenHash }: Operator): Promise<{ code: string; expiresAt: number }> {
    const code = newSecret();
    const expiresAt = this.#deps.clock.now() + SIGN_IN_CODE_MS;
    await this.#deps.operators.addSignInCode(hashOf(code), tokenHash, expiresAt);
    return { code, expiresAt };
  }

  async signInWithCode(code: string): Promise<SignedIn | undefined> {
    const tokenHash = SECRET.test(code) ? await this.#deps.operators.takeSignInCode(hashOf(code)) : undefined;
    return await this.#startSession(tokenHash === undefined ? undefined : await this.#byHash(tokenHash));
  }

  async #startSession(operator: Operator | undefined): Promise<SignedIn | undefined> {
    if (operator === undefined) return undefined;
    const session = newSecret();
    await this.#deps.operators.addSession(hashOf(session), operator.tokenHash);
    return { operator, session, csrf: csrfOf(session) };
  }

  async bySession(session: string): Promise<SignedIn | undefined> {
    if (!SECRET.test(session)) return undefined;
    const { operators, clock } = this.#deps;
    const idHash = hashOf(session);
    const known = await operators.findSession(idHash);
    if (known === undefined) return undefined;
    const operator = this.#isAlive(known) ? await this.#byHash(known.tokenHash) : undefined;
    if (operator === undefined) {
      await operators.removeSession(idHash);
      return undefined;
    }
    if (clock.now() - known.lastSeenAt >= TOUCH_MS) await operators.touchSession(idHash);
    return { operator, session, csrf: csrfOf(session) };
  }

  /** Resolves with whether the operator's token, and its session if there is one, are still valid. Does not count as activity. */
  async isValid({ tokenHash }: Operator, session: string | undefined): Promise<boolean> {
    if (session !== undefined) {
      const known = await this.#deps.operators.findSession(hashOf(session));
      if (known === undefined || !this.#isAlive(known)) return false;
    }
    return (await this.#byHash(tokenHash)) !== undefined;
  }

  #isAlive({ createdAt, lastSeenAt }: OperatorSession): boolean {
    const now = this.#deps.clock.now();
    return now - lastSeenAt < SESSION_IDLE_MS && now - createdAt < SESSION_MAX_MS;
  }

  async signOut(session: string): Promise<void> {
    await this.#deps.operators.removeSession(hashOf(session));
  }

  /** Creates a token. The secret is shown once. */
  async createToken(
    wanted: Pick<OperatorToken, 'label' | 'readOnly' | 'locations'>,
  ): Promise<{ token: OperatorToken; secret: string }> {
    const secret = newSecret();
    const token = await this.#deps.operators.addToken({ ...wanted, tokenHash: hashOf(secret) });
    return { token, secret };
  }

  async prune(): Promise<void> {
    const now = this.#deps.clock.now();
    await this.#deps.operators.prune({ lastSeen: now - SESSION_IDLE_MS, created: now - SESSION_MAX_MS });
  }

  async #byHash(tokenHash: string): Promise<Operator | undefined> {
    if (isSame(tokenHash, this.#owner.tokenHash)) return this.#owner;
    const token = await this.#deps.operators.findToken(tokenHash);
    if (token === undefined) return undefined;
    const { id, label, readOnly, locations } = token;
    return {
      tokenId: id,
      tokenHash,
      label,
      readOnly,
      locations: locations === null ? null : new Set(locations),
    };
  }
}

const newSecret = () => randomBytes(32).toString('base64url');
const hashOf = (secret: string) => hash('sha256', secret, 'hex');
const isSame = (one: string, other: string) => timingSafeEqual(Buffer.from(one), Buffer.from(other));

/** Derived from the cookie, which other sites can send but not read. */
const csrfOf = (session: string) => hash('sha256', `csrf ${session}`, 'base64url');
