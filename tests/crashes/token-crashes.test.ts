import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it, onTestFinished } from 'vitest';

import { authorise, LOCATION, startCrashWorld, startPausingWorld, writeMessages } from './crash-world.ts';
import type { Stage } from './crash-world.ts';

const POINTS = ['afterToken', 'beforeCommit'] as const;

function cleared() {
  const cleanup = createCleanup();
  onTestFinished(() => cleanup.run());
  return cleanup;
}

async function stateOfGrant({ operator }: Stage): Promise<string | undefined> {
  const { grants } = (await operator('/operator/grants')) as { grants?: { state: string }[] };
  return grants?.[0]?.state;
}

describe('the service dies between the new tokens and the store', () => {
  it.each(POINTS)(
    'O7 at oauth.%s: no message is lost, the operator sees what to do, and a new authorisation heals it',
    async (point) => {
      const world = await startCrashWorld(cleared(), {}, `oauth.${point}:kill`);
      const { service, mac, crm, doubled, byChat } = world;
      await until(() => mac.isConnected, { within: 60_000 });
      crm.expireTokens(LOCATION);
      const written = writeMessages(mac, 2, 2);
      await service.exited;
      await service.start();
      await until(async () => (await stateOfGrant(world)) === 'reauth_required', { within: 60_000 });
      expect(mac.acks).toEqual([]);
      await authorise(crm, service.url);
      await until(() => mac.unacknowledged === 0, { within: 60_000 });
      expect(byChat()).toEqual(written);
      expect(doubled()).toBe(0);
    },
    300_000,
  );
});

describe.concurrent('the service stands still for fifteen seconds between the new tokens and the store', () => {
  it.each(POINTS)(
    'O7 at oauth.%s: all callers wait for one refresh, and no call uses a token that is not stored',
    async (point) => {
      const world = await startPausingWorld(cleared(), `oauth.${point}:pause:15000`);
      const { mac, crm, doubled, byChat } = world;
      await until(() => mac.isConnected, { within: 60_000 });
      crm.expireTokens(LOCATION);
      const before = crm.callsTo('token').length;
      const written = writeMessages(mac, 3, 2);
      await until(() => crm.callsTo('token').length === before + 1);
      const asked = crm.calls.length;
      await new Promise((resolve) => setTimeout(resolve, 5000));
      // Calls that were refused before may still have come in; none came with the new token.
      expect(crm.calls.slice(asked).every(({ status }) => status === 401)).toBe(true);
      await until(() => mac.unacknowledged === 0, { within: 60_000 });
      expect(crm.callsTo('token')).toHaveLength(before + 1);
      expect(byChat()).toEqual(written);
      expect(doubled()).toBe(0);
      expect(await stateOfGrant(world)).toBe('active');
    },
    300_000,
  );
});
