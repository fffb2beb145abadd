import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { convertAmr } from './amr.ts';
import { convertApng } from './apng.ts';
import { convertApplePng } from './apple-png.ts';
import { convertCaf } from './caf.ts';
import { convertHeic } from './heic.ts';
import type { OutputFile } from './output-file.ts';
import { fixture, written } from '../testing/images.ts';
import { convertTiff } from './tiff.ts';

type Convert = (file: Buffer, output: OutputFile) => unknown;

/** A file with some bytes changed, possibly truncated, possibly with a part copied elsewhere. */
const damaged = (file: Buffer) =>
  fc
    .record({
      changes: fc.array(fc.tuple(fc.nat(file.length - 1), fc.constantFrom(0, 1, 0x7f, 0x80, 0xff)), {
        maxLength: 8,
      }),
      cut: fc.option(fc.nat(file.length)),
      moved: fc.option(fc.tuple(fc.nat(file.length), fc.nat(200), fc.nat(file.length))),
    })
    .map(({ changes, cut, moved }) => {
      const bytes = Buffer.from(file);
      for (const [at, value] of changes) bytes[at] = value;
      if (moved) bytes.copy(bytes, moved[2], moved[0], moved[0] + moved[1]);
      return cut === null ? bytes : bytes.subarray(0, cut);
    });

describe('a damaged file', () => {
  // The Opus decoder reports every damaged packet on the console.
  beforeAll(() => void vi.spyOn(console, 'error').mockReturnValue());
  afterAll(() => void vi.restoreAllMocks());

  it.each<[string, string, Convert, number]>([
    ['animated PNG', 'apng-3frames-alpha.png', convertApng, 300],
    ["Apple's PNG", 'apple.png', convertApplePng, 300],
    ['TIFF', 'pattern-tiled.tiff', convertTiff, 300],
    ['planar TIFF', 'pattern-planar.tiff', convertTiff, 200],
    ['HEIC', 'cutout.heic', convertHeic, 40],
    ['HEIC in tiles', 'pattern-turned.heic', convertHeic, 40],
    ['HEIC sequence', 'animation.heics', convertHeic, 40],
    ['voice', 'voice_pcm.caf', convertCaf, 200],
    ['AMR voice', 'voice.amr', convertAmr, 100],
    ['Opus voice', 'voice_opus.caf', convertCaf, 60],
    ['AAC voice', 'voice_aac.caf', convertCaf, 200],
  ])(
    'I8 of type %s is converted or rejected',
    async (_, name, convert, numRuns) => {
      await fc.assert(
        fc.asyncProperty(damaged(fixture(name)), async (file) => {
          await written((output) => convert(file, output)).then(
            ({ bytes }) => expect(bytes.length).toBeLessThan(100 * 1024 * 1024),
            (error: unknown) => expect(error).toBeInstanceOf(Error),
          );
        }),
        { numRuns },
      );
    },
    120_000,
  );
});
