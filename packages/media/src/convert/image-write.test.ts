import { describe, expect, it } from 'vitest';
import { sniff } from '../sniff.ts';
import { written } from '../testing/images.ts';
import { MAX_PNG_PIXELS, openImageWriter } from './image-write.ts';

describe('openImageWriter', () => {
  it.each([
    ['a small opaque image', { width: 1500, height: MAX_PNG_PIXELS / 1500, hasAlpha: false }, 'image/png'],
    [
      'a large opaque image',
      { width: 1500, height: MAX_PNG_PIXELS / 1500 + 1, hasAlpha: false },
      'image/jpeg',
    ],
    ['a large image with alpha', { width: 2000, height: 1000, hasAlpha: true }, 'image/png'],
    ['an image too wide for JPEG', { width: 70_000, height: 30, hasAlpha: false }, 'image/png'],
  ])('I8 writes %s as the right type', async (_, format, type) => {
    const { bytes, result } = await written((output) => {
      const writer = openImageWriter(output, format);
      const row = new Uint8Array(format.width * (format.hasAlpha ? 4 : 3));
      for (let index = 0; index < format.height; index++) writer.row(row);
      writer.finish();
      return writer.type;
    });
    expect(result).toBe(type);
    expect(sniff(bytes)).toBe(type);
  });

  it('I8 keeps an opaque PNG of noise within the limit of the CRM', () => {
    expect(MAX_PNG_PIXELS * 3).toBeLessThan(5_000_000);
  });
});
