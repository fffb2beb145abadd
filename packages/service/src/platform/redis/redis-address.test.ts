import { describe, expect, it } from 'vitest';

import { isRedisAddress, parseSentinels } from './redis-address.ts';

describe('the address of Redis', () => {
  it('names sentinels, with their default port, and how to reach the primary', () => {
    const found = parseSentinels(
      'redis+sentinel://user:p%40ss@one,10.0.0.2:26380,[::1]:5/main/3?sentinel=:s',
    );
    expect(found).toMatchObject({
      urls: ['redis://:s@one:26379', 'redis://:s@10.0.0.2:26380', 'redis://:s@[::1]:5'],
      name: 'main',
    });
    expect(found?.primaryAt('10.0.0.9', '6379')).toBe('redis://user:p%40ss@10.0.0.9:6379/3');
    expect(found?.primaryAt('fd00::1', '6379')).toBe('redis://user:p%40ss@[fd00::1]:6379/3');
  });

  it('uses TLS for both with rediss', () => {
    const found = parseSentinels('rediss+sentinel://one:1/main');
    expect(found?.urls).toEqual(['rediss://one:1']);
    expect(found?.primaryAt('two', '2')).toBe('rediss://two:2');
  });

  it.each([
    'redis+sentinel://one:26379',
    'redis+sentinel:///main',
    'redis+sentinel://one,/main',
    'redis+sentinel://one two/main',
    'redis+sentinel://one/main/x',
    'sentinel://one/main',
    'http://one',
    '127.0.0.1:6379',
  ])('is rejected when it is %s', (url) => {
    expect(isRedisAddress(url)).toBe(false);
  });

  it.each(['redis://127.0.0.1', 'rediss://:password@one:6380/2', 'redis+sentinel://a,b,c/main'])(
    'is accepted when it is %s',
    (url) => {
      expect(isRedisAddress(url)).toBe(true);
    },
  );
});
