import type { MessageEvents } from './message-events.ts';
import type { RecentEvents } from './recent-events.ts';

/** The engine for a single node: its own events are all there are. */
export function createMemoryMessageEvents(feed: Pick<RecentEvents, 'since' | 'listen'>): MessageEvents {
  return {
    async follow(lastId, listener) {
      const { events, gap } = feed.since(lastId);
      if (gap) listener('gap');
      for (const event of events) listener(event);
      return feed.listen(listener);
    },
    async close() {},
  };
}
