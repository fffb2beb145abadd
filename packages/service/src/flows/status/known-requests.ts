import type { AckOutcome } from '@footbridge/protocol/frames';

import type { Telling } from './telling.ts';

export interface KnownRequest {
  readonly locationId: string;
  /** Undefined when there is none to call back for. */
  readonly messageId: string | undefined;
  /** Kept because a text that was looked up once is found faster the next time. */
  readonly lane: string | undefined;
  /** How its terminal status ends or ended; undefined as long as the Mac says nothing. */
  terminal: Promise<AckOutcome> | undefined;
  /** Its terminal status while that is on its way. */
  telling: Telling | undefined;
}

const PER_GENERATION = 20_000;

/** Requests of this process, newest first to be kept: the journal knows the others. */
export class KnownRequests {
  #young = new Map<string, KnownRequest>();
  #old = new Map<string, KnownRequest>();

  get(requestId: string): KnownRequest | undefined {
    return this.#young.get(requestId) ?? this.#old.get(requestId);
  }

  set(requestId: string, request: KnownRequest): void {
    this.#young.set(requestId, request);
    if (this.#young.size < PER_GENERATION) return;
    this.#old = this.#young;
    this.#young = new Map();
  }
}
