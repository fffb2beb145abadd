import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { useEngine } from './engine.fixture.ts';
import { ProgramClock } from './program-clock.ts';
import { ANNA, person } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const OWN = '+15550100000';
const UNKNOWN_ALIAS = 'alias@example.com';
const MINUTE = 60_000;

describe('test texts', () => {
  const { run } = useEngine('macos', cleanup);

  /** Starts an agent that knows its own number. */
  async function start(env: Readonly<Record<string, string>> = { FOOTBRIDGE_CANARY_MINUTES: '10' }) {
    const clock = new ProgramClock();
    const running = await run({
      env: {
        FOOTBRIDGE_MIRROR: 'true',
        FOOTBRIDGE_NEW_PER_HOUR: '1',
        FOOTBRIDGE_HEARTBEAT_SEC: '86400',
        ...env,
      },
      deps: { clock },
    });
    const { service, play, messages } = running;
    const { guid } = await play(person(ANNA, 'say'), { text: 'Hello' });
    await service.messageOf(guid);
    const canary = () => service.states.at(-1)?.canary;
    const skipUntil = (isReached: () => boolean, what: string) =>
      until(
        async () => {
          if (clock.programs === 0) await clock.skip(2_000);
          return isReached();
        },
        { what },
      );
    const texts = async () =>
      (await messages()).map(({ text }) => text).filter((text) => text.startsWith('Footbridge line check'));
    return { ...running, clock, canary, skipUntil, texts };
  }

  it('reach neither the CRM nor the limits of the line, and the report has the time of the last confirmed one', async () => {
    const { service, play, clock, canary, skipUntil, texts } = await start();
    await skipUntil(() => typeof canary()?.lastOkAt === 'string', 'a confirmed test text');
    const [text = ''] = await texts();
    // Messages also receives a text to its own account, from this or another address of the account.
    for (const sender of [OWN, UNKNOWN_ALIAS]) await play(person(sender, 'say'), { text });
    const { guid } = await play(person(ANNA, 'say'), { text: 'Marker' });
    await service.messageOf(guid);
    await clock.skip(20_000);
    await service.settled();
    expect(service.received.map((frame) => frame.text)).toEqual(['Hello', 'Marker']);
    expect(service.states.at(-1)).toMatchObject({ lastSentAt: null, pacing: { newLastHour: 0 } });
    expect(service.statuses).toEqual([]);
    expect(await texts()).toHaveLength(3);
  });

  it('are reported within five minutes when they stop arriving, and again when they arrive', async () => {
    const { fail, heal, clock, canary, skipUntil } = await start();
    await skipUntil(() => typeof canary()?.lastOkAt === 'string', 'a confirmed test text');
    await fail('send_lost');
    await skipUntil(() => canary()?.failedSince !== undefined, 'the failure');
    const since = Date.parse(canary()?.failedSince ?? '');
    expect(clock.now() - since).toBeGreaterThanOrEqual(4 * MINUTE);
    expect(clock.now() - since).toBeLessThan(5 * MINUTE);
    await heal();
    await skipUntil(() => canary()?.failedSince === undefined, 'the recovery');
  });

  it('are not sent by default', async () => {
    const { clock, texts, canary } = await start({});
    await clock.skip(60 * MINUTE);
    expect([await texts(), canary()]).toEqual([[], undefined]);
  });
});
