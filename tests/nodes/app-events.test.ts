import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { describe, expect, it } from 'vitest';

import { appEvents } from './app-events.ts';

const canRun = (await hasRedis()) && (await hasPostgres());

describe.skipIf(!canRun)('events about the app, on two nodes', () => {
  it('E1 leave the same state in any order, repeated and over kill -9', async () => {
    const { wrong } = await appEvents({ events: 150, kills: 2, seed: 7 });
    expect(wrong).toEqual({});
  }, 300_000);
});
