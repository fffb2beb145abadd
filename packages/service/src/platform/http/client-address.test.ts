import type { IncomingMessage } from 'node:http';

import { describe, expect, it } from 'vitest';

import { addressKey, clientAddress, trusts } from './client-address.ts';
import type { TrustProxy } from './client-address.ts';

const request = (remoteAddress: string, forwarded?: string) =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage;

describe('L7 the source address', () => {
  const cases: [TrustProxy, string, string | undefined, string][] = [
    [false, '203.0.113.9', '1.1.1.1', '203.0.113.9'],
    [1, '10.0.0.1', '1.1.1.1', '1.1.1.1'],
    [1, '10.0.0.1', '6.6.6.6, 1.1.1.1', '1.1.1.1'],
    [2, '10.0.0.1', '6.6.6.6, 1.1.1.1', '6.6.6.6'],
    [['10.0.0.0/8'], '10.0.0.1', '6.6.6.6, 1.1.1.1, 10.1.2.3', '1.1.1.1'],
    [['10.0.0.0/8'], '203.0.113.9', '1.1.1.1', '203.0.113.9'],
    [['loopback'], '::ffff:127.0.0.1', '1.1.1.1', '1.1.1.1'],
    [['loopback'], '127.0.0.1', 'nonsense', '127.0.0.1'],
    [['uniquelocal'], '192.168.1.1', '10.0.0.1, 172.16.0.1', '10.0.0.1'],
    [1, '10.0.0.1', undefined, '10.0.0.1'],
  ];
  it.each(cases)(
    'L7 with TRUST_PROXY %j, socket %s and X-Forwarded-For %s is %s',
    (setting, remote, forwarded, expected) => {
      expect(clientAddress(request(remote, forwarded), trusts(setting))).toBe(expected);
    },
  );
});

describe('limiter keys', () => {
  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
  ])('%s counts as %s', (address, key) => {
    expect(addressKey(address)).toBe(key);
  });
});
