import type { Logger } from '../../log.ts';
import type { Topic } from './changes.ts';

export const TOPICS: readonly Topic[] = ['keys', 'license', 'device', 'location', 'grant'];

/** Who on this node wants to hear of which topic. */
export class Listeners {
  readonly #byTopic = new Map<Topic, Set<(subject: string) => void>>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  add(topic: Topic, listener: (subject: string) => void): () => void {
    // A wrapper of its own, so that the same function may listen twice and leave once.
    const entry = (subject: string) => listener(subject);
    const those = this.#byTopic.get(topic) ?? new Set();
    this.#byTopic.set(topic, those.add(entry));
    return () => those.delete(entry);
  }

  tell(topic: Topic, subject: string): void {
    for (const listener of this.#byTopic.get(topic) ?? []) {
      try {
        listener(subject);
      } catch (error) {
        this.#log.error({ topic, err: error }, 'a listener failed to hear of a change');
      }
    }
  }

  /** What was missed is no longer known: everything may have changed. */
  tellAll(): void {
    for (const topic of TOPICS) this.tell(topic, '*');
  }

  clear(): void {
    this.#byTopic.clear();
  }
}
