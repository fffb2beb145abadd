import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { readAudioDuration } from './audio-duration.ts';
import { seededRandom } from './mutated-bodies.fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(folder, { recursive: true }));

const fixture = (name: string): URL => new URL(`../../../fixtures/voice/${name}`, import.meta.url);

function durationOf(bytes: Uint8Array): number | undefined {
  const path = join(folder, 'voice');
  writeFileSync(path, bytes);
  return readAudioDuration(path);
}

/** A CAF file of uncompressed samples, which has no packet table. */
function uncompressed(seconds: number): Buffer {
  const format = Buffer.alloc(32);
  format.writeDoubleBE(8_000, 0);
  format.write('lpcm', 8, 'latin1');
  format.writeUInt32BE(2, 16);
  format.writeUInt32BE(1, 20);
  const chunk = (type: string, size: bigint): Buffer => {
    const header = Buffer.alloc(12);
    header.write(type, 'latin1');
    header.writeBigInt64BE(size, 4);
    return header;
  };
  const samples = Buffer.alloc(4 + seconds * 16_000);
  const start = Buffer.from([0x63, 0x61, 0x66, 0x66, 0, 1, 0, 0]);
  return Buffer.concat([start, chunk('desc', 32n), format, chunk('data', -1n), samples]);
}

describe('the duration of a voice message', () => {
  it.each([
    ['voice_opus.caf', 2_000],
    ['voice.m4a', 2_000],
    ['voice.amr', 2_000],
  ])('of %s is about %s ms', (name, expected) => {
    const duration = durationOf(readFileSync(fixture(name)));
    expect(duration).toBeGreaterThan(expected * 0.95);
    expect(duration).toBeLessThan(expected * 1.05);
  });

  it('of uncompressed samples comes from their size', () => {
    expect(durationOf(uncompressed(3))).toBe(3_000);
  });

  it.each([
    ['empty', Buffer.alloc(0)],
    ['a text', Buffer.from('not a voice message at all')],
    ['a CAF header only', Buffer.from('caff')],
    ['an MPEG-4 header only', Buffer.from('\0\0\0\u0018ftypM4A ')],
    ['an MPEG-4 file with an endless box', Buffer.from('\0\0\0\u0008ftyp\0\0\0\0moov\0\0\0\0moov')],
  ])('is unknown when the file is %s', (_, bytes) => {
    expect(durationOf(bytes)).toBeUndefined();
  });

  it('is unknown when the file is missing or a folder', () => {
    expect(readAudioDuration(join(folder, 'nowhere'))).toBeUndefined();
    expect(readAudioDuration(folder)).toBeUndefined();
  });

  it('of a damaged file is a number or unknown', () => {
    const random = seededRandom(5);
    for (const name of ['voice_opus.caf', 'voice.m4a', 'voice.amr']) {
      const whole = readFileSync(fixture(name));
      for (let round = 0; round < 200; round += 1) {
        const bytes = Buffer.from(whole.subarray(0, random(whole.byteLength)));
        if (bytes.byteLength > 0) bytes[random(Math.min(bytes.byteLength, 200))] = random(256);
        const duration = durationOf(bytes);
        if (duration !== undefined) expect(duration).toBeGreaterThanOrEqual(0);
      }
    }
  });
});
