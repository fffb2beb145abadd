import type { AckOutcome } from '@footbridge/protocol/frames';

import type { StatusDelivery } from './status-delivery.ts';

export interface KnownRequest {
  readonly locationId: string;
  /** Undefined when there is none to call back for. */
  readonly messageId: string | undefined;
  /** Kept because a Map finds a string that was hashed before faster. */
  readonly key: string | undefined;
  /** How its terminal status ends or ended; undefined until the Mac reports. */
  terminal: Promise<AckOutcome> | undefined;
  /** Its terminal status while it is being delivered. */
  delivery: StatusDelivery | undefined;
}

const REQUESTS_PER_GENERATION = 20_000;

/** The latest requests of this process; the journal knows the older ones. */
export class KnownRequests {
  #young = new Map<string, KnownRequest>();
  #old = new Map<string, KnownRequest>();

  get(requestId: string): KnownRequest | undefined {
    return this.#young.get(requestId) ?? this.#old.get(requestId);
  }

  set(requestId: string, request: KnownRequest): void {
    this.#young.set(requestId, request);
    if (this.#young.size < REQUESTS_PER_GENERATION) return;
    this.#old = this.#young;
    this.#young = new Map();
  }
}
