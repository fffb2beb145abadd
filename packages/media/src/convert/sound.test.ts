import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readMp3 } from '../testing/read-mp3.ts';
import type { Mp3 } from '../testing/read-mp3.ts';
import { fixture, written } from '../testing/images.ts';
import { convertAmr } from './amr.ts';
import { readCaf } from './caf-read.ts';
import { convertCaf } from './caf.ts';
import { isoBox } from './iso-boxes.ts';
import { Mp3Writer } from './mp3-write.ts';
import { opusDuration, writeOggOpus } from './ogg-opus.ts';
import { sniff } from '../sniff.ts';

const convert = (file: Buffer) => written((output) => convertCaf(file, output));

/** The fixtures are a tone: counts how often it crosses zero upwards in a second. */
function pitch({ samples, sampleRate }: Mp3): number {
  const loud = samples
    .map((sample) => (Math.abs(sample) > 0.02 ? sample : 0))
    .filter((sample) => sample !== 0);
  let crossings = 0;
  for (let at = 1; at < loud.length; at++) {
    if ((loud[at - 1] ?? 0) < 0 && (loud[at] ?? 0) > 0) crossings += 1;
  }
  return crossings / (loud.length / sampleRate);
}

afterEach(() => void vi.restoreAllMocks());

/** Converts a mono recording and returns the samples that are given to the MP3 encoder. */
async function encodedSamples(file: Buffer): Promise<number[]> {
  const encode = vi.spyOn(Mp3Writer.prototype, 'samples');
  await convert(file);
  const samples = encode.mock.calls.flatMap(([[mono], start, end]) => [...(mono?.slice(start, end) ?? [])]);
  encode.mockRestore();
  return samples;
}

const caf = (packets: Buffer[], { priming = 0, valid = 0, format = 'opus', rate = 24_000 } = {}): Buffer => {
  const chunk = (type: string, ...data: Buffer[]) => {
    const body = Buffer.concat(data);
    const head = Buffer.alloc(12);
    head.write(type, 'latin1');
    head.writeBigInt64BE(BigInt(body.length), 4);
    return Buffer.concat([head, body]);
  };
  const description = Buffer.alloc(32);
  description.writeDoubleBE(rate);
  description.write(format, 8, 'latin1');
  description.writeUInt32BE(480, 20);
  description.writeUInt32BE(1, 24);
  const table = Buffer.alloc(24);
  table.writeBigInt64BE(BigInt(packets.length));
  table.writeBigInt64BE(BigInt(valid), 8);
  table.writeInt32BE(priming, 16);
  const sizes = packets.map(({ length }) =>
    Buffer.from(length < 128 ? [length] : [0x80 | (length >> 7), length & 127]),
  );
  return Buffer.concat([
    Buffer.from('caff\0\x01\0\0', 'latin1'),
    chunk('desc', description),
    chunk('data', Buffer.alloc(4), ...packets),
    chunk('pakt', table, ...sizes),
  ]);
};

describe('CAF', () => {
  const opus = readCaf(fixture('voice_opus.caf'));

  it('I8 converts Opus to an MP3 of the same length', async () => {
    const { bytes, result } = await convert(fixture('voice_opus.caf'));
    expect(result).toEqual({ type: 'audio/mpeg' });
    const mp3 = await readMp3(bytes);
    expect(mp3).toMatchObject({ channels: 1, sampleRate: 24_000 });
    expect(mp3.seconds).toBeGreaterThan(2);
    expect(mp3.seconds).toBeLessThan(2.25);
    expect(Math.max(...mp3.samples)).toBeGreaterThan(0.03);
  });

  it('I8 leaves the priming samples out', async () => {
    const all = await encodedSamples(caf(opus.packets, { valid: 24_000 }));
    const trimmed = await encodedSamples(caf(opus.packets, { priming: 480, valid: 12_000 }));
    expect(trimmed).toHaveLength(12_000);
    expect(trimmed).toEqual(all.slice(480, 12_480));
  });

  it('I8 puts the packets of a long Opus recording into an Ogg file unchanged', async () => {
    const packets = Array.from({ length: 450 }, () => opus.packets).flat();
    const valid = 24_000 * 850;
    const { bytes, result } = await convert(caf(packets, { priming: 312, valid }));
    expect(result).toEqual({ type: 'audio/ogg' });
    const ogg = readOgg(bytes);
    expect(ogg.packets[0]?.toString('latin1', 0, 8)).toBe('OpusHead');
    expect(ogg.packets[0]?.readUInt16LE(10)).toBe(624);
    expect(ogg.packets[1]?.toString('latin1', 0, 8)).toBe('OpusTags');
    const played = Math.ceil((312 + valid) / 480);
    expect(Buffer.concat(ogg.packets.slice(2)).equals(Buffer.concat(packets.slice(0, played)))).toBe(true);
    expect(ogg.positions.at(-1)).toBe(624 + valid * 2);
    expect(ogg.positions).toEqual(ogg.positions.toSorted((a, b) => a - b));
  });

  it('I8 laces Ogg packets of any size', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 1275 }), { minLength: 1, maxLength: 120 }),
        async (sizes) => {
          const packets = sizes.map((size) => Buffer.alloc(size, 0x78));
          const { bytes } = await written((output) =>
            writeOggOpus(output, packets, { channels: 1, sampleRate: 24_000, preSkip: 0, length: Infinity }),
          );
          const ogg = readOgg(bytes);
          expect(ogg.packets.slice(2).map(({ length }) => length)).toEqual(sizes);
          expect(ogg.positions.at(-1)).toBe(sizes.length * 960);
          expect(ogg.positions).toEqual(ogg.positions.toSorted((one, other) => one - other));
        },
      ),
      { numRuns: 10 },
    );
  });

  it.each([
    ['voice_pcm.caf', 1, 0.2],
    ['voice_float.caf', 2, 0.1],
  ])('I8 converts the PCM of %s to MP3', async (name, channels, seconds) => {
    const { bytes, result } = await convert(fixture(name));
    expect(result).toEqual({ type: 'audio/mpeg' });
    const mp3 = await readMp3(bytes);
    expect(mp3).toMatchObject({ sampleRate: 16_000, channels });
    expect(mp3.seconds).toBeGreaterThan(seconds);
    expect(mp3.seconds).toBeLessThan(seconds + 0.25);
    expect(bytes.length).toBeLessThan(fixture(name).length / 4);
  });

  it.each([
    [96_000, 48_000],
    [44_100, 44_100],
    [9000, 8000],
  ])('I8 converts PCM at %i Hz to an MP3 at %i Hz', async (rate, expected) => {
    const { bytes } = await convert(pcm(rate));
    expect((await readMp3(bytes)).sampleRate).toBe(expected);
  });

  it.each([0, -1, 3999, 1e9, Number.NaN])('I8 rejects PCM at %d Hz', async (rate) => {
    await expect(convert(pcm(rate))).rejects.toThrow('Hz are not supported');
  });

  it('I8 puts AAC packets into an M4A file unchanged', async () => {
    const { bytes, result } = await convert(fixture('voice_aac.caf'));
    expect(result).toEqual({ type: 'audio/mp4' });
    expect(sniff(bytes)).toBe('audio/mp4');
    const source = readCaf(fixture('voice_aac.caf'));
    const stbl = isoBox(bytes, 'moov', 'trak', 'mdia', 'minf', 'stbl') ?? Buffer.alloc(0);
    const sizes = isoBox(stbl, 'stsz') ?? Buffer.alloc(0);
    let at = isoBox(stbl, 'stco')?.readUInt32BE(8) ?? 0;
    const packets = Array.from({ length: sizes.readUInt32BE(8) }, (_, index) => {
      const start = at;
      at += sizes.readUInt32BE(12 + index * 4);
      return bytes.subarray(start, at);
    });
    expect(packets).toEqual(source.packets);
    expect(at).toBe(bytes.length);
    // Half a second after the priming samples.
    const edit = isoBox(bytes, 'moov', 'trak', 'edts', 'elst');
    expect([edit?.readUInt32BE(8), edit?.readUInt32BE(12)]).toEqual([12_000, 1024]);
  });

  it.each<[string, Buffer, string]>([
    ['a codec that no browser plays', fixture('voice_alac.caf'), '"alac" are not supported'],
    ['a recording without packets', caf([]), 'empty'],
    ['a file without chunks', Buffer.from('caff\0\x01\0\0', 'latin1'), 'damaged'],
    ['an image', fixture('photo.heic'), 'damaged'],
    [
      'AAC at a rate that AAC does not have',
      caf([Buffer.alloc(9)], { format: 'aac ', rate: 12_345 }),
      'damaged',
    ],
  ])('I8 rejects %s', async (_, file, reason) => {
    await expect(convert(file)).rejects.toThrow(reason);
  });

  it('I8 converts the complete packets of a truncated recording', async () => {
    const truncated = caf(opus.packets.slice(0, 20), { valid: 48_000 });
    expect((await readMp3((await convert(truncated)).bytes)).seconds).toBeCloseTo(0.5, 0);
    // Here the table of sizes, which comes last, is missing.
    const cut = caf(opus.packets, { valid: 48_000 }).subarray(0, 300);
    await expect(convert(cut)).rejects.toThrow('empty');
  });

  it('I8 reads the duration of an Opus packet from its first bytes', () => {
    expect([0x08, 0x0b, 0x80, 0x98, 0x99].map((toc) => opusDuration(Uint8Array.of(toc, 3)))).toEqual([
      960, 2880, 120, 960, 1920,
    ]);
  });
});

describe('AMR', () => {
  it('I8 converts narrow band to an MP3 of the same length and pitch', async () => {
    const { bytes, result } = await written((output) => convertAmr(fixture('voice.amr'), output));
    expect(result).toEqual({ type: 'audio/mpeg' });
    const mp3 = await readMp3(bytes);
    expect(mp3).toMatchObject({ sampleRate: 8000, channels: 1 });
    expect(mp3.seconds).toBeGreaterThan(2);
    expect(mp3.seconds).toBeLessThan(2.25);
    const reference = await readMp3((await convert(fixture('voice_opus.caf'))).bytes);
    expect(Math.abs(pitch(mp3) - pitch(reference))).toBeLessThan(20);
  });

  it('I8 converts wide band at twice the rate', async () => {
    const silence = Buffer.concat([
      Buffer.from('#!AMR-WB\n'),
      ...Array.from({ length: 50 }, () => Buffer.from([0x7c])),
    ]);
    const { bytes } = await written((output) => convertAmr(silence, output));
    const mp3 = await readMp3(bytes);
    expect(mp3).toMatchObject({ sampleRate: 16_000, channels: 1 });
    expect(mp3.seconds).toBeGreaterThan(1);
  });

  it('I8 rejects hours of silence in a small file before decoding them', async () => {
    const bomb = Buffer.concat([Buffer.from('#!AMR\n'), Buffer.alloc(1024 * 1024, 0x7c)]);
    await expect(written((output) => convertAmr(bomb, output))).rejects.toThrow('too long');
  });

  it.each([
    ['an empty file', Buffer.alloc(0)],
    ['a header alone', Buffer.from('#!AMR\n')],
    ['an image', fixture('photo.heic')],
  ])('I8 rejects %s', async (_, file) => {
    await expect(written((output) => convertAmr(file, output))).rejects.toThrow('damaged');
  });
});

/** A tenth of a second of a tone, 16 bits, mono. */
function pcm(rate: number): Buffer {
  const samples = Buffer.alloc(9600);
  for (let at = 0; at < samples.length; at += 2)
    samples.writeInt16BE(Math.round(9000 * Math.sin(at / 9)), at);
  const file = caf([samples], { format: 'lpcm', rate });
  file.writeUInt32BE(16, file.indexOf('desc') + 12 + 28);
  return file;
}

function readOgg(file: Buffer): { packets: Buffer[]; positions: number[] } {
  const packets: Buffer[] = [];
  const positions: number[] = [];
  let pieces: Buffer[] = [];
  for (let at = 0; at < file.length;) {
    expect(file.toString('latin1', at, at + 4)).toBe('OggS');
    expect(file.readUInt32LE(at + 18)).toBe(positions.length);
    const lacing = file.subarray(at + 27, at + 27 + file.readUInt8(at + 26));
    const end = at + 27 + lacing.length + lacing.reduce((sum, size) => sum + size, 0);
    expect(checksum(file.subarray(at, end))).toBe(file.readUInt32LE(at + 22));
    positions.push(Number(file.readBigUInt64LE(at + 6)));
    at += 27 + lacing.length;
    for (const size of lacing) {
      pieces.push(file.subarray(at, at + size));
      at += size;
      if (size === 255) continue;
      packets.push(Buffer.concat(pieces));
      pieces = [];
    }
  }
  return { packets, positions };
}

/** Bit by bit, as the Ogg specification defines it. */
function checksum(page: Buffer): number {
  const bytes = Buffer.from(page);
  bytes.fill(0, 22, 26);
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) crc = crc < 0 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  }
  return crc >>> 0;
}
