import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { hasHeicDecoder } from './heic-decoder.ts';

describe('hasHeicDecoder', () => {
  it('I8 finds the installed decoder without a log line', () => {
    const logged: object[] = [];
    expect(hasHeicDecoder({ warn: (fields) => logged.push(fields) })).toBe(true);
    expect(logged).toEqual([]);
  });

  it('I8 logs once that the decoder is missing', () => {
    const logged: object[] = [];
    const withoutModules = createRequire('file:///nowhere/program.js').resolve;
    expect(hasHeicDecoder({ warn: (fields) => logged.push(fields) }, withoutModules)).toBe(false);
    expect(logged).toEqual([{ event: 'media.heic_decoder_missing' }]);
  });
});
