import { expect, it } from 'vitest';

import { NO_CALLS, RecentCrmCalls } from './crm-client.ts';

function setUp() {
  let now = 0;
  const calls = new RecentCrmCalls(() => now);
  const add = (at: number, ...results: string[]) => {
    now = at;
    for (const result of results) calls.add('loc', 'status', result);
  };
  return { calls, add };
}

it('recent calls count inbound and status calls by location', () => {
  const { calls, add } = setUp();
  add(1, '200', '500');
  calls.add('loc', 'read_contact', '403');
  calls.add('other', 'inbound', '201');
  expect(calls.of('loc')).toEqual({ calls: 2, rejected: 1, lastResult: '500', rejectedSince: 1 });
  expect(calls.of('other')).toEqual({ calls: 1, rejected: 0, lastResult: null, rejectedSince: null });
  expect(calls.of('unknown')).toBe(NO_CALLS);
});

it.each(['find_contact', 'create_contact'])(
  'counts the failures of %s, on which inbound messages wait',
  (call) => {
    const { calls } = setUp();
    for (const result of ['200', '201', '400', '404', '405', '422']) calls.add('loc', call, result);
    expect(calls.of('loc')).toBe(NO_CALLS);
    for (const result of ['401', '403', '408', '429', '500', 'timeout', 'network'])
      calls.add('loc', call, result);
    expect(calls.of('loc')).toMatchObject({ calls: 7, rejected: 7, lastResult: 'network' });
  },
);

it('recent calls show when the current run of rejections began, and the last rejection', () => {
  const { calls, add } = setUp();
  add(1, '401');
  add(2, '200');
  add(3, '401');
  add(4, 'timeout');
  expect(calls.of('loc')).toEqual({ calls: 4, rejected: 3, lastResult: 'timeout', rejectedSince: 3 });
  add(5, '200');
  expect(calls.of('loc')).toMatchObject({ lastResult: 'timeout', rejectedSince: null });
});

it('recent calls keep the newest 50', () => {
  const { calls, add } = setUp();
  add(1, '401', ...Array.from({ length: 50 }, () => '200'));
  expect(calls.of('loc')).toEqual({ calls: 50, rejected: 0, lastResult: null, rejectedSince: null });
  add(2, '422', '200');
  expect(calls.of('loc')).toEqual({ calls: 50, rejected: 1, lastResult: '422', rejectedSince: null });
});
