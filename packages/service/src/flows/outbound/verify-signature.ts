import type { LocationId } from '@footbridge/protocol/ids';

import type { KeyRing, TrustedKey } from '../../ports/keys/keys.ts';
import type { Limit, Verdict } from '../../ports/limits/limits.ts';
import { SlowLane } from './slow-lane.ts';
import type { WebhookRequest } from './webhook-request.ts';

export interface SignatureParts {
  readonly keys: KeyRing;
  /** Counts refused signatures on this node. In memory: a flood must not become a flood of questions to Redis. */
  readonly unsigned: { take(limit: Limit, key: string): Verdict; peek(limit: Limit, key: string): Verdict };
  readonly unsignedPerMinute: number;
}

/** For the metrics; the caller learns none of it (S1). */
export type SignatureFault = 'absent' | 'malformed' | 'unknown';

export type SignatureVerdict =
  | { readonly ok: true; readonly key: TrustedKey }
  | { readonly ok: false; readonly fault: SignatureFault };

const MAX_FAMILIAR = 10_000;

/**
 * Says whose signature a webhook carries (S1–S8).
 *
 * Nobody is refused without a look: behind a proxy, honest CRMs and hostile ones share an address. But an address with too many bad
 * signatures loses its place: its requests are verified one per turn of the event loop, after everybody else's. A location
 * whose key is known from before keeps its place even then, for the price of one verification.
 */
export class SignatureCheck {
  readonly #parts: SignatureParts;
  readonly #limit: Limit;
  readonly #slowLane = new SlowLane();
  readonly #familiar = new Map<string, TrustedKey>();

  constructor(parts: SignatureParts) {
    this.#parts = parts;
    this.#limit = { name: 'unsigned', max: parts.unsignedPerMinute, windowSec: 60 };
  }

  async verify(
    request: Pick<WebhookRequest, 'headers' | 'rawBody' | 'address'>,
    locationId: LocationId | undefined,
  ): Promise<SignatureVerdict> {
    const header = this.#parts.keys.headers.find((name) => request.headers[name] !== undefined);
    if (header === undefined) return this.#refuse(request.address, 'absent');
    const signature = decode(request.headers[header]);
    if (signature === undefined) return this.#refuse(request.address, 'malformed');

    const candidates = this.#parts.keys.candidates(header);
    const mayBe = (key: TrustedKey) => key.signatureBytes === signature.length && speaksFor(key, locationId);
    const known = locationId === undefined ? undefined : this.#familiar.get(locationId);
    if (
      known !== undefined &&
      candidates.includes(known) &&
      mayBe(known) &&
      known.verify(request.rawBody, signature)
    )
      return { ok: true, key: known };

    const suspect = this.#parts.unsigned.peek(this.#limit, request.address).remaining === 0;
    for (const key of candidates) {
      if (key === known || !mayBe(key)) continue;
      if (suspect) await this.#slowLane.turn();
      if (!key.verify(request.rawBody, signature)) continue;
      this.#remember(locationId, key);
      return { ok: true, key };
    }
    return this.#refuse(request.address, 'unknown');
  }

  #remember(locationId: LocationId | undefined, key: TrustedKey): void {
    if (locationId === undefined) return;
    this.#familiar.set(locationId, key);
    if (this.#familiar.size <= MAX_FAMILIAR) return;
    for (const oldest of this.#familiar.keys()) {
      this.#familiar.delete(oldest);
      break;
    }
  }

  #refuse(address: string, fault: SignatureFault): SignatureVerdict {
    this.#parts.unsigned.take(this.#limit, address);
    return { ok: false, fault };
  }
}

/** A key limited to some locations says nothing about others (S7). */
function speaksFor(key: TrustedKey, locationId: LocationId | undefined): boolean {
  return key.locations === null || locationId === undefined || key.locations.has(locationId);
}

// An RSA key of 8192 bits signs 1024 bytes: 1368 letters.
const MAX_LETTERS = 1368;

/**
 * Strict base64 (S8): Node decodes leniently, so the bytes must spell the header again. That also turns away repeated headers,
 * whose values arrive joined by a comma.
 */
function decode(header: string | string[] | undefined): Buffer | undefined {
  if (typeof header !== 'string' || header === '' || header.length > MAX_LETTERS) return undefined;
  const bytes = Buffer.from(header, 'base64');
  return bytes.toString('base64') === header ? bytes : undefined;
}
