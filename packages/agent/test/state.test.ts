import { createCleanup } from '@footbridge/testkit/cleanup';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { ANNA, person, runAgent } from './running-agent.ts';

/** Longer than any test: the job waits until the delay is changed. */
const HELD_MS = 3_600_000;

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

describe('state frames', () => {
  it('the agent reports what it knows about the Mac after its registration', async () => {
    const { service } = await start();
    const [registration] = service.registrations;
    const capabilities = registration?.capabilities.filter((name) => name !== 'received');
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

  it('the agent reports a change, 10 seconds after the last report at the earliest', async () => {
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

  it('the agent reports how many conversations it may still begin, and rejects more as RATE_LIMITED', async () => {
    const env = { FOOTBRIDGE_SEND_GAP_MS: '0-1', FOOTBRIDGE_NEW_PER_HOUR: '1' };
    const { service } = await runAgent(cleanup, { env });
    const statusTo = async (phone: string) => {
      const { error, status } = await service.statusOf(service.send({ phone, message: 'Hi' }).requestId);
      return error?.code ?? status;
    };
    await until(() => service.states.length > 0);
    expect(service.states[0]?.pacing).toEqual({ minGapMs: 0, maxGapMs: 1, newPerHour: 1, newLastHour: 0 });
    expect(await statusTo(ANNA)).toBe('delivered');
    expect(await statusTo('+15550100077')).toBe('RATE_LIMITED');
    expect(await statusTo(ANNA)).toBe('delivered');
  });

  it('the agent reports its state again after a reconnect, and still at most once in 10 seconds', async () => {
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
