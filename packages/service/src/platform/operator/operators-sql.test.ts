import { FakeClock } from '@footbridge/testkit/fake-clock';
import { beforeEach, expect, it } from 'vitest';

import { EngineError } from '../errors.ts';
import { onBothDatabases } from '../sql/on-both-databases.fixture.ts';
import type { OpenDatabase } from '../sql/open-database.ts';
import { createOperators } from './operators-sql.ts';
import type { Operators } from './operators-sql.ts';

onBothDatabases('operators', (open) => {
  let database: OpenDatabase;
  let clock: FakeClock;
  let operators: Operators;
  beforeEach(async () => {
    database = await open();
    clock = new FakeClock();
    operators = createOperators({ db: database.db, clock });
  });

  it('a token is found by its hash until it is removed', async () => {
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

  it('the removal of a token ends its sessions, and no others', async () => {
    const token = { label: 'Agency', readOnly: true, locations: null };
    const { id } = await operators.addToken({ ...token, tokenHash: 'hash-1' });
    await operators.addSession('session-1', 'hash-1');
    await operators.addSession('session-2', 'hash-2');
    await operators.removeToken(id);
    expect(await operators.findSession('session-1')).toBeUndefined();
    expect(await operators.findSession('session-2')).toBeDefined();
  });

  it('activity of a session is recorded until it ends', async () => {
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

  it('a sign-in code is taken once, and not after it has expired', async () => {
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

  it('pruning deletes sessions that are too old or unused for too long', async () => {
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

  it('a list rejects with EngineError when the database is unavailable', async () => {
    await database.close();
    await expect(operators.listTokens({ limit: 10 })).rejects.toBeInstanceOf(EngineError);
  });
});
