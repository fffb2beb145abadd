import type { Logger } from '../../log.ts';
import type { Changes, Topic } from './changes.ts';
import { Listeners } from './listeners.ts';

/** The engine of a single node: whoever must hear of a change lives in this process. */
export function createMemoryChanges(log: Logger): Changes {
  const listeners = new Listeners(log);
  return {
    async announce(topic: Topic, subject: string) {
      listeners.tell(topic, subject);
    },
    listen: (topic, listener) => listeners.add(topic, listener),
    async close() {
      listeners.clear();
    },
  };
}
