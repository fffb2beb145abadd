import { createMemoryMessageEvents } from './message-events-memory.ts';
import { messageEventsContract } from './message-events.contract.ts';
import { RecentEvents } from './recent-events.ts';

messageEventsContract('memory', async () => {
  const feed = new RecentEvents('boot');
  const events = createMemoryMessageEvents(feed);
  const happen = (messageId: string) => feed.add(0, messageId, 'accepted', {});
  return { nodes: [{ events, happen }], close: () => events.close() };
});
