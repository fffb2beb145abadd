import { RecentCache } from '../../platform/recent-cache.ts';

const MESSAGES_PER_GENERATION = 10_000;

/** The other nodes that recently rejected a request for a message, and may be reporting that to the CRM. */
export class RejectingNodes {
  readonly #nodes = new RecentCache<string, Set<string>>(MESSAGES_PER_GENERATION);

  note(node: string, locationId: string, messageId: string): void {
    const key = keyOf(locationId, messageId);
    this.#nodes.set(key, (this.#nodes.get(key) ?? new Set()).add(node));
  }

  /** Returns them and forgets them. */
  take(locationId: string, messageId: string): readonly string[] {
    const key = keyOf(locationId, messageId);
    const nodes = this.#nodes.get(key);
    if (nodes === undefined) return [];
    this.#nodes.delete(key);
    return [...nodes];
  }
}

const keyOf = (locationId: string, messageId: string): string => `${locationId} ${messageId}`;
