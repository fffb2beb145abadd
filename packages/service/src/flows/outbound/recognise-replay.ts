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
  /** Requests that are being forwarded now, by hash. None rejects. */
  readonly #inFlight = new Map<string, Promise<unknown>>();

  constructor(limits: Pick<Limits, 'peek' | 'take'>) {
    this.#limits = limits;
  }

  /**
   * Runs `send` unless the request is a replay. It is remembered when `send` resolves with true. Resolves with whether it was a replay. A repeat of a
   * request in flight waits for it, and is sent only if that request was not sent.
   */
  async once(
    { rawBody }: Pick<WebhookRequest, 'rawBody'>,
    keyId: string,
    send: () => Promise<boolean>,
  ): Promise<boolean> {
    const hash = createHash('sha256').update(`${keyId} `).update(rawBody).digest('base64url');
    for (let earlier = this.#inFlight.get(hash); earlier !== undefined; earlier = this.#inFlight.get(hash))
      await earlier;
    const sending = this.#sendUnlessKnown(hash, send).finally(() => this.#inFlight.delete(hash));
    this.#inFlight.set(
      hash,
      sending.catch(() => {}),
    );
    return sending;
  }

  async #sendUnlessKnown(hash: string, send: () => Promise<boolean>): Promise<boolean> {
    if (!(await this.#limits.peek(SENT, hash)).allowed) return true;
    if (await send()) await this.#limits.take(SENT, hash);
    return false;
  }
}
