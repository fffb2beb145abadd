import type { LocationId } from '@footbridge/protocol/ids';
import type { SignatureStep } from '@footbridge/protocol/signature-steps';

import type { KeyRing } from './key-ring.ts';
import type { TrustedKey } from './keys.ts';
import type { Limit, Verdict } from '../../platform/limits/limits.ts';
import { OnePerTick } from '../../platform/bounded-share.ts';

export interface SignedRequest {
  /** By name in lower case, as Node gives them: repeated fields are joined by commas. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The signed bytes. */
  readonly rawBody: Uint8Array;
  /** The source address in the form that limits use. */
  readonly address: string;
}

export interface SignatureDeps {
  readonly keys: Pick<KeyRing, 'headers' | 'candidates' | 'used'>;
  /** Counts rejected signatures on this node. In memory, so that a flood does not also hit Redis. */
  readonly unsigned: { take(limit: Limit, key: string): Verdict; peek(limit: Limit, key: string): Verdict };
  readonly unsignedPerMinute: number;
}

/** For the operator only: the response never shows it (S1). */
export interface SignatureFault {
  readonly step: SignatureStep;
  /** The header that was verified; null when the request has none. */
  readonly header: string | null;
  /** As the unverified body names it. */
  readonly locationId: string | null;
}

export type SignatureVerdict =
  | { readonly ok: true; readonly key: TrustedKey }
  | { readonly ok: false; readonly fault: SignatureFault };

const MAX_KNOWN_KEYS = 10_000;

/**
 * Finds the trusted key that signed a webhook (S1–S8).
 *
 * Every signature is verified, because honest and hostile senders may share an address behind a proxy. An address with too many
 * bad signatures is throttled: its requests are verified one per tick of the event loop. A location whose key is already known
 * is not throttled, at the cost of one verification.
 */
export class SignatureCheck {
  readonly #deps: SignatureDeps;
  readonly #limit: Limit;
  readonly #onePerTick = new OnePerTick();
  readonly #knownKeys = new Map<string, TrustedKey>();

  constructor(deps: SignatureDeps) {
    this.#deps = deps;
    this.#limit = { name: 'unsigned', max: deps.unsignedPerMinute, windowSec: 60 };
  }

  /** Returns a promise only for a throttled address. */
  verify(
    request: SignedRequest,
    locationId: LocationId | undefined,
  ): SignatureVerdict | Promise<SignatureVerdict> {
    const header = this.#deps.keys.headers.find((name) => request.headers[name] !== undefined);
    const reject = (step: SignatureStep) =>
      this.#reject(request.address, { step, header: header ?? null, locationId: locationId ?? null });
    if (header === undefined || request.headers[header] === UNSIGNED) return reject('header');
    const signature = decode(request.headers[header]);
    if (signature === undefined) return reject('base64');

    const candidates = this.#deps.keys.candidates(header);
    const isCandidate = (key: TrustedKey) =>
      key.signatureBytes === signature.length && isAllowedFor(key, locationId);
    const known = locationId === undefined ? undefined : this.#knownKeys.get(locationId);
    if (
      known !== undefined &&
      candidates.includes(known) &&
      isCandidate(known) &&
      known.verify(request.rawBody, signature)
    )
      return this.#accept(known);

    const others = candidates.filter((key) => key !== known && isCandidate(key));
    const isSigner = (key: TrustedKey) => key.verify(request.rawBody, signature);
    const verdict = (signer: TrustedKey | undefined) => {
      if (signer === undefined) return reject(failedStep(candidates, signature, locationId));
      this.#remember(locationId, signer);
      return this.#accept(signer);
    };
    const isThrottled = this.#deps.unsigned.peek(this.#limit, request.address).remaining === 0;
    return isThrottled ? this.#findLater(others, isSigner).then(verdict) : verdict(others.find(isSigner));
  }

  /** Tries one key per tick of the event loop, together with all other throttled requests. */
  async #findLater(
    keys: readonly TrustedKey[],
    isSigner: (key: TrustedKey) => boolean,
  ): Promise<TrustedKey | undefined> {
    for (const key of keys) {
      await this.#onePerTick.turn();
      if (isSigner(key)) return key;
    }
    return undefined;
  }

  #remember(locationId: LocationId | undefined, key: TrustedKey): void {
    if (locationId === undefined) return;
    this.#knownKeys.set(locationId, key);
    if (this.#knownKeys.size <= MAX_KNOWN_KEYS) return;
    for (const oldest of this.#knownKeys.keys()) {
      this.#knownKeys.delete(oldest);
      break;
    }
  }

  #accept(key: TrustedKey): SignatureVerdict {
    this.#deps.keys.used(key);
    return { ok: true, key };
  }

  #reject(address: string, fault: SignatureFault): SignatureVerdict {
    this.#deps.unsigned.take(this.#limit, address);
    return { ok: false, fault };
  }
}

/** What HighLevel writes into the header of a request that it does not sign. */
const UNSIGNED = 'N/A';

/** Returns the first check that no key passed. */
function failedStep(
  candidates: readonly TrustedKey[],
  { length }: Buffer,
  locationId: LocationId | undefined,
): SignatureStep {
  const sameLength = candidates.filter(({ signatureBytes }) => signatureBytes === length);
  if (sameLength.length === 0) return 'length';
  return sameLength.some((key) => isAllowedFor(key, locationId)) ? 'key' : 'location';
}

/** A key may be limited to named locations (S7). */
function isAllowedFor(key: TrustedKey, locationId: LocationId | undefined): boolean {
  return key.locations === null || locationId === undefined || key.locations.has(locationId);
}

// The signature of an 8192-bit RSA key has 1024 bytes, which are 1368 characters.
const MAX_CHARACTERS = 1368;

/**
 * Decodes strict base64 (S8). Node's decoder is lenient, so the decoded bytes must encode to the same text. This also rejects
 * repeated headers, which Node joins with a comma.
 */
function decode(header: string | string[] | undefined): Buffer | undefined {
  if (typeof header !== 'string' || header === '' || header.length > MAX_CHARACTERS) return undefined;
  const bytes = Buffer.from(header, 'base64');
  return bytes.toString('base64') === header ? bytes : undefined;
}
