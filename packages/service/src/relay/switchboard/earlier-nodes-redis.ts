import { randomUUID } from 'node:crypto';

import type { Clock } from '@footbridge/runtime/clock';

import type { Redis } from '../../platform/redis/open-redis.ts';
import { createBusCipher } from './bus.ts';
import type { BusCipher } from './bus.ts';

/** A node responds within milliseconds, unless it is stalled. */
const RESPONSE_MS = 2000;

export interface EarlierNodesDeps {
  /** With the prefix of earlier versions. */
  readonly redis: Pick<Redis, 'publish' | 'subscribe'>;
  readonly nodeSecret: string;
  readonly clock: Pick<Clock, 'after'>;
}

/** Finds nodes of this installation that use the prefix of earlier versions, which all installations share. */
export class EarlierNodes {
  readonly #redis: EarlierNodesDeps['redis'];
  readonly #cipher: BusCipher;
  readonly #clock: EarlierNodesDeps['clock'];
  readonly #name = randomUUID();
  #subscribing: Promise<void> | undefined;
  #onResponse = () => {};

  constructor({ redis, nodeSecret, clock }: EarlierNodesDeps) {
    this.#redis = redis;
    this.#cipher = createBusCipher(nodeSecret);
    this.#clock = clock;
  }

  /** Rejects with EngineError when Redis is unavailable. */
  async areThere(): Promise<boolean> {
    // In almost all installations there are none: nothing is subscribed for them.
    if ((await this.#ask()) === 0) return false;
    this.#subscribing ??= this.#redis.subscribe(`node:${this.#name}`, (sealed) => {
      if (this.#cipher.open(sealed)?.type === 'status') this.#onResponse();
    });
    await this.#subscribing;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#onResponse = () => resolve(true);
    const cancel = this.#clock.after(RESPONSE_MS, () => resolve(false));
    try {
      await this.#ask();
      return await promise;
    } finally {
      cancel();
    }
  }

  /** Asks for the status of a message that does not exist. Resolves with the number of nodes, of any installation. */
  #ask(): Promise<number> {
    const question = { type: 'status_of', id: '', from: this.#name, locationId: '', messageId: '' } as const;
    return this.#redis.publish('nodes', this.#cipher.seal(question));
  }
}
