import type { Log } from '@footbridge/runtime/log';

import { TOPICS } from './changes.ts';
import type { Topic } from './changes.ts';

/** The listeners of this node, by topic. */
export class Listeners {
  readonly #byTopic = new Map<Topic, Set<(subject: string) => void>>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  add(topic: Topic, listener: (subject: string) => void): () => void {
    // Wrapped, so that the same function can be added twice and removed once.
    const entry = (subject: string) => listener(subject);
    const listeners = this.#byTopic.get(topic) ?? new Set();
    this.#byTopic.set(topic, listeners.add(entry));
    return () => listeners.delete(entry);
  }

  notify(topic: Topic, subject: string): void {
    for (const listener of this.#byTopic.get(topic) ?? []) {
      try {
        listener(subject);
      } catch (error) {
        this.#log.error(
          { event: 'service.change_listener_failed', topic, err: error },
          'change listener failed',
        );
      }
    }
  }

  /** Notices were missed and cannot be read any more: any subject may have changed. */
  notifyAll(): void {
    for (const topic of TOPICS) this.notify(topic, '*');
  }

  clear(): void {
    this.#byTopic.clear();
  }
}
