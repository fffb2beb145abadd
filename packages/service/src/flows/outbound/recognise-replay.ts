import { createHash } from 'node:crypto';

import type { Limit, Limits } from '../../ports/limits/limits.ts';
import type { WebhookRequest } from './webhook-request.ts';

const DAY_SEC = 86_400;
const SENT: Limit = { name: 'replay', max: 1, windowSec: DAY_SEC };

/**
 * Recognises a signed request without a `messageId` that was sent before, byte for byte, in the past 24 hours (T1). With an id the Mac
 * recognises it. Remembers hashes only, as many as the limiter keeps.
 */
export class ReplayMemory {
  readonly #limits: Pick<Limits, 'peek' | 'take'>;
  /** Requests that are being forwarded now. */
  readonly #inFlight = new Set<string>();

  constructor(limits: Pick<Limits, 'peek' | 'take'>) {
    this.#limits = limits;
  }

  /** Runs `send` unless the request is a replay. It is remembered when `send` resolves with true. Resolves with whether it was a replay. */
  async once(
    { rawBody }: Pick<WebhookRequest, 'rawBody'>,
    keyId: string,
    send: () => Promise<boolean>,
  ): Promise<boolean> {
    const hash = createHash('sha256').update(`${keyId} `).update(rawBody).digest('base64url');
    if (this.#inFlight.has(hash) || !(await this.#limits.peek(SENT, hash)).allowed) return true;
    this.#inFlight.add(hash);
    try {
      if (await send()) await this.#limits.take(SENT, hash);
    } finally {
      this.#inFlight.delete(hash);
    }
    return false;
  }
}
