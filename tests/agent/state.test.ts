import { createCleanup } from '@footbridge/testkit/cleanup';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { ANNA, BERT, person, runAgent } from './running-agent.ts';

/** Longer than any test: the job waits until the delay is changed. */
const HELD_MS = 3_600_000;
const HOUR_MS = 3_600_000;
const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start() {
  const clock = new FakeClock(Date.now());
  const running = await runAgent(cleanup, { env: { FOOTBRIDGE_MACOS: '26.1' }, deps: { clock } });
  const { service } = running;
  await until(() => service.states.length === 1, { what: 'the first state' });
  /** Lets time pass, and returns the number of states that arrived by then. */
  const statesAfter = async (ms: number): Promise<number> => {
    await clock.advance(ms);
    await service.settled();
    return service.states.length;
  };
  return { ...running, clock, statesAfter };
}

/** Starts an agent with limits. The service pings by another clock than the agent's, so the agent must not miss the pings. */
async function startLimited(limits: Readonly<Record<string, string>>) {
  const clock = new FakeClock();
  const env = { FOOTBRIDGE_HEARTBEAT_SEC: '86400', ...limits };
  const running = await runAgent(cleanup, { env, deps: { clock } });
  const { service } = running;
  /** Lets the simulated Messages work: it waits for the clock, if only for 0 ms. */
  const statusOf = ({ requestId }: { readonly requestId: string }) =>
    until(async () => {
      await clock.advance(0);
      return service.statuses.find((status) => status.requestId === requestId);
    });
  return { ...running, clock, statusOf };
}

describe('state frames', () => {
  it('the agent reports what it knows about the Mac after its registration', async () => {
    const { service } = await start();
    const [registration] = service.registrations;
    const capabilities = registration?.capabilities.filter((name) => name !== 'received' && name !== 'reach');
    expect(service.states).toEqual([
      {
        type: 'state',
        capabilities,
        macos: { version: '26.1' },
        permissions: { fullDisk: 'granted', automation: 'granted', accessibility: 'granted' },
        messages: { running: true, signedIn: true, services: ['iMessage', 'SMS'] },
        session: 'active',
        queue: { pending: 0, oldestSec: 0 },
        lastSentAt: null,
        lastReceivedAt: null,
      },
    ]);
    expect(service.invalid).toEqual([]);
  });

  it('the agent reports a change at least 10 seconds after the last report', async () => {
    const { service, play, statesAfter } = await start();
    await play('/world', { permissions: { accessibility: false } });
    expect(await statesAfter(9_999)).toBe(1);
    expect(await statesAfter(1)).toBe(2);
    expect(service.states[1]?.permissions).toMatchObject({ accessibility: 'denied', automation: 'granted' });
    await play('/world', { permissions: { accessibility: true } });
    await play('/world', { permissions: { accessibility: false } });
    expect(await statesAfter(30_000)).toBe(2);
    await play('/world', { macos: '15.6' });
    expect(await statesAfter(2_000)).toBe(3);
    expect(service.states[2]?.macos).toEqual({ version: '15.6' });
  });

  it('the agent reports its queue and its last messages, without texts, numbers and ids', async () => {
    const { service, play, statesAfter } = await start();
    await play('/world', { delayMs: HELD_MS });
    cleanup.add(async () => void (await play('/world', { delayMs: 0 })));
    const first = service.send({ message: 'canary out' });
    await until(() => service.confirmed.length === 1);
    expect(await statesAfter(10_000)).toBe(2);
    expect(service.states[1]).toMatchObject({ queue: { pending: 1, oldestSec: 10 }, lastSentAt: null });
    // A queue that only grows older is not a change.
    expect(await statesAfter(30_000)).toBe(2);
    await play('/world', { delayMs: 0 });
    const { guid } = await play(person(ANNA, 'say'), { text: 'canary in' });
    await Promise.all([service.statusOf(first.requestId), service.messageOf(guid)]);
    await statesAfter(10_000);
    await statesAfter(10_000);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(service.states.at(-1)).toMatchObject({
      queue: { pending: 0, oldestSec: 0 },
      lastSentAt: time,
      lastReceivedAt: time,
    });
    const written = JSON.stringify(service.states);
    for (const secret of ['canary', ANNA, ANNA.slice(1), guid, first.requestId])
      expect(written).not.toContain(secret);
  });

  it('the agent reports how many conversations it may still begin, the messages that wait and the next slot', async () => {
    const { service, clock, statusOf } = await startLimited({ FOOTBRIDGE_NEW_PER_HOUR: '1' });
    await until(() => service.states.length > 0);
    expect(service.states[0]?.pacing).toEqual({ minGapMs: 0, maxGapMs: 0, newPerHour: 1, newLastHour: 0 });
    const begun = clock.now();
    await statusOf(service.send({ phone: ANNA, message: 'first' }));
    const second = service.send({ phone: BERT, message: 'second' });
    const third = service.send({ phone: BERT, message: 'third' });
    expect(await statusOf(service.send({ phone: ANNA, message: 'known' }))).toMatchObject({
      status: 'delivered',
    });
    await clock.advance(10_000);
    await until(() => service.states.length === 2);
    expect(service.states[1]).toMatchObject({
      queue: { pending: 2 },
      pacing: { newLastHour: 1, held: 1, nextSlotAt: new Date(begun + HOUR_MS).toISOString() },
    });
    expect(service.statuses).toHaveLength(2);
    await clock.advance(HOUR_MS - 10_000);
    expect(await statusOf(third)).toMatchObject({ status: 'delivered' });
    expect(service.statuses.map(({ requestId }) => requestId).slice(2)).toEqual([
      second.requestId,
      third.requestId,
    ]);
  });

  it('the agent reports RATE_LIMITED and the next slot when a message has waited too long for a limit', async () => {
    const { service, clock, play, statusOf } = await startLimited({
      FOOTBRIDGE_MAX_UNANSWERED: '1',
      FOOTBRIDGE_LIMIT_WAIT_SEC: '600',
    });
    const begun = clock.now();
    await statusOf(service.send({ message: 'first' }));
    const late = service.send({ message: 'too many' });
    await until(() => service.confirmed.length === 2);
    await clock.advance(599_000);
    await service.settled();
    expect(service.statuses).toHaveLength(1);
    await clock.advance(1_000);
    const slot = new Date(begun + 30 * 24 * HOUR_MS).toISOString();
    expect(await statusOf(late)).toMatchObject({
      status: 'failed',
      error: { code: 'RATE_LIMITED', message: expect.stringContaining(slot) },
    });
    const next = service.send({ message: 'after the reply' });
    await until(() => service.confirmed.length === 3);
    await play(person(ANNA, 'say'), { text: 'Yes?' });
    await clock.advance(30_000);
    expect(await statusOf(next)).toMatchObject({ status: 'delivered' });
  });

  it('the agent reports its state again after a reconnect, but at most once in 10 seconds', async () => {
    const { service, clock, statesAfter } = await start();
    service.cut();
    await until(() => service.connected === 0);
    await until(async () => {
      await clock.advance(5);
      return service.registrations.length === 2 && service.connected === 1;
    });
    expect(service.states).toHaveLength(1);
    expect(await statesAfter(12_000)).toBe(2);
    expect(service.states[1]).toEqual(service.states[0]);
  });
});
