import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { isLoopbackAddress, isPublicAddress } from './public-address.ts';

describe('addresses', () => {
  it.each([
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.51.100.7',
    '203.0.113.9',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:0:7f00:1::',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:a9fe:a9fe::1',
    '3fff::1',
    '5f00::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '4000::1',
    'not an address',
    '',
    '127.1',
    '0x7f.1',
  ])('%s is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each(['1.1.1.1', '8.8.8.8', '100.63.255.255', '172.32.0.1', '2606:4700::1111', '2a00:1450::1'])(
    '%s is public',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it('a private IPv4 address is not public in any IPv6 notation', () => {
    const octet = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(fc.constantFrom(10, 127), octet, octet, octet, (a, b, c, d) => {
        const hex = [a, b, c, d].map((byte) => byte.toString(16).padStart(2, '0'));
        const pair = `${hex[0]}${hex[1]}:${hex[2]}${hex[3]}`;
        for (const address of [`::ffff:${pair}`, `64:ff9b::${pair}`, `2002:${pair}::`, `::${pair}`]) {
          expect(isPublicAddress(address)).toBe(false);
        }
      }),
    );
  });

  it('loopback is 127/8 and ::1', () => {
    expect(['127.0.0.1', '127.9.9.9', '::1'].every(isLoopbackAddress)).toBe(true);
    expect(['128.0.0.1', '::2', '10.0.0.1', 'localhost'].some(isLoopbackAddress)).toBe(false);
  });
});
