import { FakeClock } from '@footbridge/testkit/fake-clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { describe, expect, it } from 'vitest';

import { createPrivateTokens, privateTokenCheck } from './private-tokens.ts';
import { bearerOf } from './tokens.fixture.ts';
import { createTokens } from './tokens.ts';

describe('private integration tokens', () => {
  const own = (stored: Record<string, string> = {}) => ({
    privateToken: async (locationId: string) => stored[locationId],
  });

  it('O10 belong to one location; the operator overrides the settings', async () => {
    const privateToken = createPrivateTokens({
      single: undefined,
      byLocation: new Map([
        ['loc1', 'pit-settings'],
        ['loc2', 'pit-two'],
      ]),
      grants: own({ loc1: 'pit-operator' }),
      ownedLocations: async () => ['loc1', 'loc2'],
      log: silentLog,
    });
    expect(await privateToken('loc1')).toBe('pit-operator');
    expect(await privateToken('loc2')).toBe('pit-two');
    expect(await privateToken('loc3')).toBeUndefined();
  });

  it('O10 a single one serves a location while licenses own no other one, which is logged once', async () => {
    let owned: string[] = [];
    const events: unknown[] = [];
    const log = (fields: object) => events.push('event' in fields && fields.event);
    const privateToken = createPrivateTokens({
      single: 'pit-one',
      byLocation: new Map(),
      grants: undefined,
      ownedLocations: async () => owned,
      log: { ...silentLog, info: log, warn: log },
    });
    expect(await privateToken('loc1')).toBe('pit-one');
    await privateToken('loc1');
    expect(events).toEqual(['private_token.single_used']);
    owned = ['loc1'];
    expect(await privateToken('loc1')).toBe('pit-one');
    expect(await privateToken('loc2')).toBeUndefined();
    expect(events).toHaveLength(1);
    owned = ['loc1', 'loc2'];
    expect(await privateToken('loc1')).toBeUndefined();
    expect(events.at(-1)).toBe('private_token.single_ignored');
    await privateToken('loc2');
    expect(events).toHaveLength(2);
    owned = ['loc2'];
    expect(await privateToken('loc1')).toBeUndefined();
    expect(await privateToken('loc2')).toBe('pit-one');
  });

  it('O10 are shown for the locations that they serve', async () => {
    const check = (single: string | undefined, owned: string[]) =>
      privateTokenCheck({
        single,
        byLocation: new Map([['loc1', 'pit-settings']]),
        grants: {
          privateTokens: async () => [
            { locationId: 'loc2', updatedAt: 0, isReadable: true },
            { locationId: 'loc4', updatedAt: 0, isReadable: false },
          ],
        },
        ownedLocations: async () => owned,
      });
    const states = (of: (locationId: string) => string) => ['loc1', 'loc2', 'loc3', 'loc4'].map(of);
    expect(states(await check(undefined, ['loc3']))).toEqual(['private', 'private', 'none', 'unreadable']);
    expect(states(await check('pit-one', []))).toEqual(['private', 'private', 'private', 'private']);
    expect(states(await check('pit-one', ['loc3']))).toEqual(['private', 'private', 'private', 'unreadable']);
    const several = ['private', 'private', 'ambiguous', 'unreadable'];
    expect(states(await check('pit-one', ['loc1', 'loc3']))).toEqual(several);
  });

  it('I4 serve only calls that do not require OAuth, and never beside it', async () => {
    const changes = { announce: async () => {}, listen: () => () => {} };
    const common = { changes, clock: new FakeClock(), log: silentLog, failpoint: undefined };
    const privateOnly = createTokens({ ...common, oauth: undefined, privateToken: async () => 'pit-1' });
    expect(await privateOnly.bearer('loc1', 'any')).toEqual(bearerOf('pit-1'));
    expect(await privateOnly.bearer('loc1', 'oauth')).toEqual({ missing: 'none' });
    expect(await privateOnly.renew('loc1', 'any', bearerOf('pit-1'))).toEqual({ missing: 'reauth_required' });
    const neither = createTokens({ ...common, oauth: undefined, privateToken: undefined });
    expect(await neither.bearer('loc1', 'any')).toEqual({ missing: 'none' });
  });
});
