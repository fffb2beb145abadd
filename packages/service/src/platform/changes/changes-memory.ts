import type { Log } from '@footbridge/runtime/log';

import type { Changes, Topic } from './changes.ts';
import { Listeners } from './listeners.ts';

/** The engine for a single node: all listeners live in this process. */
export function createMemoryChanges(log: Log): Changes {
  const listeners = new Listeners(log);
  return {
    async announce(topic: Topic, subject: string) {
      listeners.notify(topic, subject);
    },
    listen: (topic, listener) => listeners.add(topic, listener),
    async close() {
      listeners.clear();
    },
  };
}
