import type { FakeClock } from '@footbridge/testkit/fake-clock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Operators } from './operators.ts';

interface Opened {
  readonly operators: Operators;
  readonly clock: FakeClock;
  close(): Promise<void>;
}

export function operatorsContract(name: string, open: () => Promise<Opened>): void {
  describe(`operators: ${name}`, () => {
    let opened: Opened;
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());

    it('finds a token by its hash until it is removed', async () => {
      const { operators, clock } = opened;
      const token = { label: 'Agency', readOnly: true, locations: ['loc1', 'loc2'] };
      const { id } = await operators.addToken({ ...token, tokenHash: 'hash-1' });
      await operators.addToken({ label: 'All', readOnly: false, locations: null, tokenHash: 'hash-2' });
      expect(await operators.findToken('hash-1')).toEqual({ id, ...token, createdAt: clock.now() });
      expect((await operators.findToken('hash-2'))?.locations).toBeNull();
      expect((await operators.listTokens({ limit: 10 })).map(({ label }) => label).toSorted()).toEqual([
        'Agency',
        'All',
      ]);
      expect(await operators.removeToken(id)).toBe(true);
      expect(await operators.removeToken(id)).toBe(false);
      expect(await operators.findToken('hash-1')).toBeUndefined();
    });

    it('ends the sessions of a removed token, and no others', async () => {
      const { operators } = opened;
      const token = { label: 'Agency', readOnly: true, locations: null };
      const { id } = await operators.addToken({ ...token, tokenHash: 'hash-1' });
      await operators.addSession('session-1', 'hash-1');
      await operators.addSession('session-2', 'hash-2');
      await operators.removeToken(id);
      expect(await operators.findSession('session-1')).toBeUndefined();
      expect(await operators.findSession('session-2')).toBeDefined();
    });

    it('records activity of a session until it ends', async () => {
      const { operators, clock } = opened;
      const createdAt = clock.now();
      await operators.addSession('session-1', 'hash-1');
      await clock.advance(1000);
      await operators.touchSession('session-1');
      expect(await operators.findSession('session-1')).toEqual({
        tokenHash: 'hash-1',
        createdAt,
        lastSeenAt: createdAt + 1000,
      });
      await operators.removeSession('session-1');
      await operators.touchSession('session-1');
      expect(await operators.findSession('session-1')).toBeUndefined();
    });

    it('takes a sign-in code once, and not after it has expired', async () => {
      const { operators, clock } = opened;
      await operators.addSignInCode('code-1', 'hash-1', clock.now() + 1000);
      await operators.addSignInCode('code-2', 'hash-2', clock.now() + 1000);
      await operators.addSignInCode('code-3', 'hash-3', clock.now() + 2000);
      expect(await operators.takeSignInCode('code-1')).toBe('hash-1');
      expect(await operators.takeSignInCode('code-1')).toBeUndefined();
      await clock.advance(1000);
      expect(await operators.takeSignInCode('code-2')).toBeUndefined();
      await operators.prune({ lastSeen: 0, created: 0 });
      expect(await operators.takeSignInCode('code-3')).toBe('hash-3');
    });

    it('prunes sessions that are too old or unused for too long', async () => {
      const { operators, clock } = opened;
      await operators.addSession('old', 'hash-1');
      await clock.advance(1000);
      await operators.addSession('unused', 'hash-1');
      await clock.advance(1000);
      await operators.touchSession('old');
      await operators.addSession('current', 'hash-1');
      const now = clock.now();
      await operators.prune({ lastSeen: now - 500, created: now - 1500 });
      expect(await operators.findSession('old')).toBeUndefined();
      expect(await operators.findSession('unused')).toBeUndefined();
      expect(await operators.findSession('current')).toBeDefined();
    });
  });
}
