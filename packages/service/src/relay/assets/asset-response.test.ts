import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assetResponse, parseRange } from './asset-response.ts';
import type { AssetRequestHeaders } from './asset-response.ts';

const now = new Date('2026-01-01T00:00:00Z');
const asset = {
  name: 'photo.png',
  contentType: 'image/png',
  size: 1000,
  sha256: 'ab12',
  expiresAt: new Date('2026-01-02T00:00:00Z'),
};
const respond = (headers: AssetRequestHeaders = {}, changes: Partial<typeof asset> = {}) =>
  assetResponse({ ...asset, ...changes }, headers, now);

describe('assetResponse', () => {
  it('I8 serves an image inline under its own type, in a sandbox', () => {
    const { status, headers, body } = respond();
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'Content-Type': 'image/png',
      'Content-Disposition': 'inline; filename="photo.png"',
      'Content-Length': '1000',
      'X-Content-Type-Options': 'nosniff',
      'Cross-Origin-Resource-Policy': 'cross-origin',
      'Access-Control-Allow-Origin': '*',
      'Accept-Ranges': 'bytes',
      ETag: '"ab12"',
      'Cache-Control': 'private, max-age=86400, immutable',
    });
    expect(headers['Content-Security-Policy']).toMatch(/^sandbox; default-src 'none'/);
    expect(body).toEqual({ start: 0, length: 1000 });
  });

  it.each(['text/html', 'image/svg+xml', 'application/xml', 'application/octet-stream', 'text/javascript'])(
    'I8 serves %s as an opaque attachment',
    (contentType) => {
      expect(respond({}, { contentType }).headers).toMatchObject({
        'Content-Type': 'application/octet-stream',
        'Content-Disposition': expect.stringMatching(/^attachment;/),
        'X-Content-Type-Options': 'nosniff',
      });
    },
  );

  it.each([['"ab12"'], ['W/"ab12"'], ['"x", "ab12"'], ['*']])(
    'I8 responds 304 to If-None-Match %s',
    (tag) => {
      const { status, headers, body } = respond({ 'if-none-match': tag, range: 'bytes=0-1' });
      expect({ status, body }).toEqual({ status: 304 });
      expect(headers['ETag']).toBe('"ab12"');
      expect(headers).not.toHaveProperty('Content-Length');
    },
  );

  it('I8 sends the whole file when If-None-Match names another version', () => {
    expect(respond({ 'if-none-match': '"other"' }).status).toBe(200);
  });

  it('I8 responds 206 to a range', () => {
    const { status, headers, body } = respond({ range: 'bytes=100-199' });
    expect(status).toBe(206);
    expect(headers).toMatchObject({ 'Content-Range': 'bytes 100-199/1000', 'Content-Length': '100' });
    expect(body).toEqual({ start: 100, length: 100 });
  });

  it('I8 ignores the range when If-Range names another version', () => {
    expect(respond({ range: 'bytes=0-9', 'if-range': '"old"' }).status).toBe(200);
    expect(respond({ range: 'bytes=0-9', 'if-range': 'W/"ab12"' }).status).toBe(200);
    expect(respond({ range: 'bytes=0-9', 'if-range': '"ab12"' }).status).toBe(206);
  });

  it('I8 responds 416 with the size to a range beyond the end', () => {
    const { status, headers, body } = respond({ range: 'bytes=1000-' });
    expect({ status, body }).toEqual({ status: 416 });
    expect(headers).toMatchObject({ 'Content-Range': 'bytes */1000', 'Content-Length': '0' });
  });

  it('I8 limits caching to a week and to the expiry', () => {
    const cacheControl = (expiresAt: Date) => respond({}, { expiresAt }).headers['Cache-Control'];
    expect(cacheControl(new Date('2027-01-01'))).toContain('max-age=604800');
    expect(cacheControl(new Date('2025-01-01'))).toContain('max-age=0');
  });
});

describe('parseRange', () => {
  it.each([
    ['bytes=0-0', { kind: 'part', start: 0, end: 0 }],
    ['bytes=0-', { kind: 'part', start: 0, end: 999 }],
    ['bytes=-1', { kind: 'part', start: 999, end: 999 }],
    ['bytes=-5000', { kind: 'part', start: 0, end: 999 }],
    ['bytes=990-99999999999999999999999', { kind: 'part', start: 990, end: 999 }],
    ['Bytes=5-6', { kind: 'part', start: 5, end: 6 }],
    ['bytes=-0', { kind: 'unsatisfiable' }],
    ['bytes=1000-1001', { kind: 'unsatisfiable' }],
    ['bytes=5-4', { kind: 'whole' }],
    ['bytes=0-1,5-6', { kind: 'whole' }],
    ['bytes=-', { kind: 'whole' }],
    ['bytes=a-b', { kind: 'whole' }],
    ['bytes=+1-2', { kind: 'whole' }],
    ['items=0-1', { kind: 'whole' }],
    ['', { kind: 'whole' }],
  ])('I8 reads %j of 1000 bytes', (header, expected) => {
    expect(parseRange(header, 1000)).toEqual(expected);
  });

  it('I8 finds no range satisfiable in an empty file', () => {
    expect(parseRange('bytes=0-', 0)).toEqual({ kind: 'unsatisfiable' });
    expect(parseRange('bytes=-5', 0)).toEqual({ kind: 'unsatisfiable' });
    expect(parseRange(undefined, 0)).toEqual({ kind: 'whole' });
  });

  it('I8 returns the same part as a slice of the file', () => {
    fc.assert(
      fc.property(fc.nat(50), fc.option(fc.nat(60)), fc.option(fc.nat(60)), (size, first, last) => {
        const range = parseRange(`bytes=${first ?? ''}-${last ?? ''}`, size);
        if (range.kind !== 'part') return;
        const all = Array.from({ length: size }, (_, index) => index);
        const expected = first === null ? all.slice(-(last ?? 0)) : all.slice(first, (last ?? size) + 1);
        expect(all.slice(range.start, range.end + 1)).toEqual(expected);
        expect(expected.length).toBeGreaterThan(0);
      }),
    );
  });

  it('I8 accepts any header without throwing', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), (header, size) => {
        parseRange(`bytes=${header}`, size);
        parseRange(header, size);
      }),
    );
  });
});
