import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import {
  authorise,
  cleanupOf,
  LOCATION,
  startWithService,
  startInProcess,
  writeMessages,
} from './crash-setup.ts';
import type { CrashSetup } from './crash-setup.ts';

const POINTS = ['afterToken', 'beforeCommit'] as const;

async function stateOfGrant({ operator }: CrashSetup): Promise<string | undefined> {
  const { grants } = (await operator('/operator/grants')) as { grants?: { state: string }[] };
  return grants?.[0]?.state;
}

describe('a kill between receiving and storing new tokens', () => {
  it.for(POINTS)(
    'O7 at oauth.%s loses no message, is shown to the operator, and is repaired by a new authorisation',
    { timeout: 300_000 },
    async (point, test) => {
      const setup = await startWithService(cleanupOf(test), {}, `oauth.${point}:kill`);
      const { service, mac, crm, doubled, byChat } = setup;
      await until(() => mac.isConnected, { within: 60_000 });
      crm.expireTokens(LOCATION);
      const written = writeMessages(mac, 2, 2);
      await service.exited;
      await service.start();
      await until(async () => (await stateOfGrant(setup)) === 'reauth_required', { within: 60_000 });
      expect(mac.acks).toEqual([]);
      await authorise(crm, service.url);
      await until(() => mac.unacknowledged === 0, { within: 60_000 });
      expect(byChat()).toEqual(written);
      expect(doubled()).toBe(0);
    },
  );
});

describe.concurrent('a pause of fifteen seconds between receiving and storing new tokens', () => {
  it.for(POINTS)(
    'O7 at oauth.%s makes all callers wait for one refresh, and no call uses a token that is not stored',
    { timeout: 300_000 },
    async (point, test) => {
      const setup = await startInProcess(cleanupOf(test), `oauth.${point}:pause:15000`);
      const { mac, crm, doubled, byChat } = setup;
      await until(() => mac.isConnected, { within: 60_000 });
      crm.expireTokens(LOCATION);
      const before = crm.callsTo('token').length;
      const written = writeMessages(mac, 3, 2);
      await until(() => crm.callsTo('token').length === before + 1);
      const callsBefore = crm.calls.length;
      await new Promise((resolve) => setTimeout(resolve, 5000));
      // Calls with the rejected token may still arrive, but none with the new one.
      expect(crm.calls.slice(callsBefore).every(({ status }) => status === 401)).toBe(true);
      await until(() => mac.unacknowledged === 0, { within: 60_000 });
      expect(crm.callsTo('token')).toHaveLength(before + 1);
      expect(byChat()).toEqual(written);
      expect(doubled()).toBe(0);
      expect(await stateOfGrant(setup)).toBe('active');
    },
  );
});
