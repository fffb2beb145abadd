import { expect, it } from 'vitest';

import { onJournals } from './journal.fixture.ts';
import type { JournalEvent } from './journal.ts';

onJournals('journal feed', (fixture) => {
  const { entry } = fixture;

  it('notifies listeners of the first state of a message, given or not', () => {
    const { journal } = fixture;
    const states: unknown[] = [];
    journal.listen(({ recorded }) => states.push(recorded.state));
    journal.open({ ...entry(), direction: 'inbound' }, 'received', { detail: { seq: 1 } });
    journal.open(entry(), 'accepted');
    journal.open(entry(), 'rejected', { state: 'rejected' });
    expect(states).toEqual(['received', 'accepted', 'rejected']);
  });

  it('notifies listeners, and returns missed events', async () => {
    const { journal } = fixture;
    const received: JournalEvent[] = [];
    const stop = journal.listen((event) => received.push(event));
    const one = entry();
    journal.open(one, 'accepted');
    stop();
    journal.step(one.id, 'written', { state: 'written' });
    journal.step(one.id, 'mac_reported', { state: 'delivered' });
    expect(received.map(({ step, message }) => [step, message?.locationId])).toEqual([['accepted', 'loc1']]);
    const { events, gap } = journal.since(received[0]?.id);
    expect(gap).toBe(false);
    expect(events.map(({ step }) => step)).toEqual(['written', 'mac_reported']);
    expect(journal.since(events[1]?.id)).toEqual({ events: [], gap: false });
    expect(journal.since(undefined)).toEqual({ events: [], gap: false });
  });

  it('reports a gap when events are no longer kept, or belong to another process', async () => {
    const { journal } = fixture;
    const one = entry();
    journal.open(one, 'accepted');
    const [first] = journal.since('another-0').events;
    expect(journal.since('another-0')).toMatchObject({ gap: true });
    for (let index = 0; index < 1500; index++) journal.step(one.id, 'mac_reported');
    const late = journal.since(first?.id);
    expect(late.gap).toBe(true);
    expect(late.events).toHaveLength(1000);
    expect(journal.since('not an id').gap).toBe(true);
  });
});
