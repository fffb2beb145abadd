import { ANY_CHARACTER } from '@footbridge/testkit/any-character';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  asDeviceId,
  asGuid,
  asLocationId,
  isLimiterLocationId,
  newRequestId,
  requestTime,
  usableMessageId,
} from './ids.ts';

describe('message ids', () => {
  it('A1 a usable id always produces a path of exactly four segments', () => {
    const odd = fc.constantFrom(
      '.',
      '..',
      '%2e',
      '%2E%2E',
      '/',
      '\\',
      '?',
      '#',
      '\0',
      ' ',
      '\ud800',
      'é',
      '😀',
      '..;',
    );
    const anything = fc.oneof(
      fc.string({ unit: ANY_CHARACTER, maxLength: 30 }),
      fc.array(odd, { maxLength: 6 }).map((pieces) => pieces.join('')),
    );
    fc.assert(
      fc.property(anything, (value) => {
        const id = usableMessageId(value);
        if (id === undefined) return;
        const url = new URL(`https://crm.test/conversations/messages/${encodeURIComponent(id)}/status`);
        const segments = url.pathname.slice(1).split('/');
        expect(segments).toHaveLength(4);
        expect(decodeURIComponent(segments[2] ?? '')).toBe(value);
        expect(url.search + url.hash).toBe('');
      }),
      { numRuns: 800 },
    );
  });

  it.each([
    '',
    '  ',
    '\n',
    '.',
    '..',
    'x'.repeat(257),
    '\ud800',
    'a\udc00',
    7,
    null,
    undefined,
    ['m'],
    { id: 'm' },
  ])('A1 rejects %j', (value) => {
    expect(usableMessageId(value)).toBeUndefined();
  });

  it.each(['m', '...', 'a/b', '../x', 'm 1', '%2e%2e', 'x'.repeat(256), '😀', '\0'])(
    'A1 accepts %j',
    (value) => {
      expect(usableMessageId(value)).toBe(value);
    },
  );
});

describe('location ids', () => {
  it.each(['abc', 'A1b', 'x'.repeat(200)])('L3 the limiter accepts %j as its key', (value) => {
    expect(isLimiterLocationId(value)).toBe(true);
  });

  it.each(['', 'ab', 'x'.repeat(201), 'abc-1', 'abc ', 'abc\n', 'äbc', '١٢٣'])(
    'L3 the limiter does not accept %j as its key',
    (value) => {
      expect(isLimiterLocationId(value)).toBe(false);
    },
  );

  it('a location id is a string that is not blank', () => {
    expect(asLocationId(' loc-1 ')).toBe(' loc-1 ');
    for (const blank of ['', '  ', '\n', 7, null, undefined, ['loc']])
      expect(asLocationId(blank)).toBeUndefined();
  });
});

describe('device ids and guids', () => {
  it('a device id has 8 to 128 plain characters', () => {
    expect(asDeviceId('mac:A.b_1-2')).toBe('mac:A.b_1-2');
    expect(asDeviceId('x'.repeat(128))).toBeDefined();
    for (const bad of ['short', 'x'.repeat(129), 'with space', 'slash/slash', 'newline1\n', 8, null]) {
      expect(asDeviceId(bad)).toBeUndefined();
    }
  });

  it('a guid is a well-formed string of 1 to 256 characters', () => {
    expect(asGuid('p:0/ABC')).toBe('p:0/ABC');
    for (const bad of ['', 'x'.repeat(257), '\ud800', 1, undefined]) expect(asGuid(bad)).toBeUndefined();
  });
});

describe('request ids', () => {
  it('a request id is a UUIDv7 that contains its creation time', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), (now) => {
        const id = newRequestId(now);
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(requestTime(id)).toBe(now);
      }),
    );
  });

  it('request ids sort by time and do not repeat', () => {
    const ids = Array.from({ length: 1000 }, (_, index) => newRequestId(1_700_000_000_000 + index));
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(Array.from({ length: 1000 }, () => newRequestId(0))).size).toBe(1000);
    const before = Date.now();
    const now = requestTime(newRequestId());
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now());
  });

  it('a string that is not a UUIDv7 has no creation time', () => {
    for (const other of ['', 'x', '6ba7b810-9dad-11d1-80b4-00c04fd430c8'])
      expect(requestTime(other)).toBeUndefined();
  });
});
