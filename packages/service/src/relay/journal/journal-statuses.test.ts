import { expect, it } from 'vitest';

import { onJournals } from './journal.fixture.ts';
import type { NewEntry } from './journal.ts';

onJournals('journal statuses', (fixture) => {
  const { entry } = fixture;

  it('returns the statuses sent to the CRM, also before they are on disk', async () => {
    const { journal } = fixture;
    const one = entry();
    journal.open(one, 'accepted');
    journal.step(one.id, 'status_sent', { detail: { status: 'pending' } });
    expect(await journal.sentStatuses(one.id)).toEqual({
      locationId: 'loc1',
      messageId: 'msg1',
      statuses: ['pending'],
    });
    journal.step(one.id, 'status_sent', { detail: { status: 'delivered' } });
    expect((await journal.sentStatuses(one.id))?.statuses).toEqual(['pending', 'delivered']);
    expect(await journal.locationOf(one.id)).toBe('loc1');
    expect(await journal.sentStatuses('unknown')).toBeUndefined();
    expect(await journal.locationOf('unknown')).toBeUndefined();
  });

  it('returns the last status of a message over all its requests and locations', async () => {
    const { clock, journal } = fixture;
    const told = async (more: Partial<NewEntry>, ...statuses: string[]) => {
      const one = entry(more);
      journal.open(one, 'accepted');
      for (const status of statuses) {
        await clock.advance(1);
        journal.step(one.id, 'status_sent', { detail: { status } });
      }
      await journal.show(one.id);
    };
    await told({}, 'pending', 'failed');
    expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('failed');
    await told({}, 'pending');
    await told({});
    expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('pending');
    await told({ locationId: 'loc2' }, 'delivered', 'pending');
    await told({ locationId: 'loc3', direction: 'inbound', id: 'in-1' }, 'delivered');
    const all = ['loc1', 'loc2', 'loc3'].map((locationId) =>
      journal.lastStatus(locationId, 'msg1', 'another'),
    );
    expect(await Promise.all(all)).toEqual(['pending', 'delivered', undefined]);
    expect(await journal.lastStatus('loc1', 'unknown', 'another')).toBeUndefined();
  });

  it('A5 knows that a frame was written and no status accepted since, unless the attempt is reported', async () => {
    const { clock, journal } = fixture;
    const record = (messageId: string, ...steps: string[]) => {
      const one = entry({ messageId });
      journal.open(one, 'accepted');
      for (const step of steps) {
        if (step === 'written') journal.step(one.id, 'written');
        else journal.step(one.id, 'status_sent', { detail: { status: step } });
      }
    };
    record('new', 'written');
    record('told', 'written', 'pending');
    record('repeated', 'written', 'pending');
    await clock.advance(1);
    record('repeated', 'written');
    record('failed', 'written', 'pending', 'failed');
    record('tried again', 'written', 'pending', 'failed');
    await clock.advance(1);
    record('tried again', 'written');
    await journal.flush();
    const ids = ['new', 'told', 'repeated', 'failed', 'tried again'];
    const found = await Promise.all(ids.map((id) => journal.lastStatus('loc1', id, 'another')));
    expect(found).toEqual(['written', 'pending', 'pending', 'failed', 'written']);
  });

  it('A5 knows of requests without a status: written, maybe written, or only made', async () => {
    const { clock, journal } = fixture;
    const record = async (messageId: string, ...steps: string[]) => {
      for (const step of steps) {
        const one = entry({ messageId });
        journal.open(one, 'accepted');
        await clock.advance(1);
        if (step === 'written') journal.step(one.id, 'written');
        else if (step === 'uncertain')
          journal.step(one.id, 'rejected', { state: 'rejected', detail: { isCertain: false } });
        else if (step === 'rejected') journal.step(one.id, 'rejected', { state: 'rejected' });
        else journal.step(one.id, 'status_sent', { detail: { status: step } });
      }
    };
    const expected = {
      rejected: 'repeated',
      'failed rejected': 'repeated',
      'rejected failed': 'failed',
      'rejected pending': 'pending',
      'rejected written': 'written',
      'written rejected': 'written',
      'uncertain rejected': 'uncertain',
      'uncertain written': 'uncertain',
      'written uncertain': 'uncertain',
      'failed uncertain': 'uncertain',
      'uncertain failed': 'failed',
      'uncertain pending': 'pending',
      'pending uncertain': 'pending',
      'delivered uncertain': 'delivered',
    };
    for (const steps of Object.keys(expected)) await record(steps, ...steps.split(' '));
    await journal.flush();
    for (const [steps, last] of Object.entries(expected))
      expect([steps, await journal.lastStatus('loc1', steps, 'another')]).toEqual([steps, last]);
  });

  it('reads the last status of many messages at once', async () => {
    const { journal } = fixture;
    const ids = Array.from({ length: 150 }, (_, index) => `m${index}`);
    for (const messageId of ids) {
      const one = entry({ messageId });
      journal.open(one, 'accepted');
      journal.step(one.id, 'status_sent', { detail: { status: 'pending' } });
    }
    await journal.show('wait for the flush');
    const found = await Promise.all([...ids, 'none'].map((id) => journal.lastStatus('loc1', id, 'another')));
    expect(found).toEqual([...ids.map(() => 'pending'), undefined]);
  });
});
