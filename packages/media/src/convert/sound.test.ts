import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { convertAmr } from './amr.ts';
import { readCaf } from './caf-read.ts';
import { convertCaf } from './caf.ts';
import { opusDuration, writeOggOpus } from './ogg-opus.ts';
import { fixture, written } from '../testing/pictures.ts';

const convert = (file: Buffer) => written((output) => convertCaf(file, output));

function readWav(file: Buffer) {
  expect(file.toString('latin1', 0, 4) + file.toString('latin1', 8, 16)).toBe('RIFFWAVEfmt ');
  expect(file.readUInt32LE(4)).toBe(file.length - 8);
  expect(file.readUInt32LE(40)).toBe(file.length - 44);
  const channels = file.readUInt16LE(22);
  const samples = new Int16Array(file.buffer.slice(file.byteOffset + 44, file.byteOffset + file.length));
  return {
    channels,
    sampleRate: file.readUInt32LE(24),
    samples,
    seconds: samples.length / channels / file.readUInt32LE(24),
  };
}

/** How often the sound swings up through zero in a second: the pitch of a plain tone. */
function pitch({ samples, channels, seconds }: ReturnType<typeof readWav>): number {
  let swings = 0;
  for (let at = channels; at < samples.length; at += channels) {
    if ((samples[at - channels] ?? 0) < 0 && (samples[at] ?? 0) >= 0) swings += 1;
  }
  return swings / seconds;
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

describe('voice messages', () => {
  const opus = readCaf(fixture('voice_opus.caf'));

  it('I8 CAF with Opus becomes a WAV of the same length and sound', async () => {
    const { bytes, answer } = await convert(fixture('voice_opus.caf'));
    expect(answer).toEqual({ type: 'audio/wav' });
    const wav = readWav(bytes);
    expect(wav).toMatchObject({ channels: 1, sampleRate: 24_000 });
    expect(wav.seconds).toBeCloseTo(2, 1);
    expect(Math.max(...wav.samples)).toBeGreaterThan(1000);
  });

  it('I8 what only warms the decoder up is not heard', async () => {
    const { bytes } = await convert(caf(opus.packets, { priming: 480, valid: 12_000 }));
    expect(readWav(bytes).samples).toHaveLength(12_000);
    const all = readWav((await convert(caf(opus.packets, { valid: 24_000 }))).bytes).samples;
    expect(readWav(bytes).samples).toEqual(all.subarray(480, 12_480));
  });

  it('I8 a long one goes as Ogg, packet by packet as it came', async () => {
    const packets = Array.from({ length: 60 }, () => opus.packets).flat();
    const valid = 24_000 * 118;
    const { bytes, answer } = await convert(caf(packets, { priming: 312, valid }));
    expect(answer).toEqual({ type: 'audio/ogg' });
    const ogg = readOgg(bytes);
    expect(ogg.packets[0]?.toString('latin1', 0, 8)).toBe('OpusHead');
    expect(ogg.packets[0]?.readUInt16LE(10)).toBe(624);
    expect(ogg.packets[1]?.toString('latin1', 0, 8)).toBe('OpusTags');
    const heard = Math.ceil((312 + valid) / 480);
    expect(Buffer.concat(ogg.packets.slice(2)).equals(Buffer.concat(packets.slice(0, heard)))).toBe(true);
    expect(ogg.positions.at(-1)).toBe(624 + valid * 2);
    expect(ogg.positions).toEqual(ogg.positions.toSorted((a, b) => a - b));
  });

  it('I8 packets of any size are laced and found again', async () => {
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
    ['voice_pcm.caf', 16_000, 1, 0.2],
    ['voice_float.caf', 16_000, 2, 0.1],
  ])('I8 %s becomes a WAV', async (name, sampleRate, channels, seconds) => {
    const { bytes, answer } = await convert(fixture(name));
    expect(answer).toEqual({ type: 'audio/wav' });
    const wav = readWav(bytes);
    expect(wav).toMatchObject({ sampleRate, channels });
    expect(wav.seconds).toBeCloseTo(seconds, 1);
    expect(pitch(wav)).toBeCloseTo(pitch(readWav((await convert(fixture('voice_pcm.caf'))).bytes)), -2);
  });

  it('I8 CAF with AAC becomes a stream of the same packets', async () => {
    const { bytes, answer } = await convert(fixture('voice_aac.caf'));
    expect(answer).toEqual({ type: 'audio/aac' });
    const packets: Buffer[] = [];
    for (let at = 0; at < bytes.length;) {
      expect(bytes.readUInt16BE(at)).toBe(0xfff1);
      const size = (bytes.readUIntBE(at + 3, 3) >> 5) & 0x1fff;
      packets.push(bytes.subarray(at + 7, at + size));
      at += size;
    }
    expect(packets).toEqual(readCaf(fixture('voice_aac.caf')).packets);
  });

  it.each<[string, Buffer, string]>([
    ['a codec no browser plays', fixture('voice_alac.caf'), '"alac" are not supported'],
    ['no packets', caf([]), 'empty'],
    ['no sound', Buffer.from('caff\0\x01\0\0', 'latin1'), 'damaged'],
    ['a picture', fixture('photo.heic'), 'damaged'],
  ])('I8 %s is refused', async (_, file, reason) => {
    await expect(convert(file)).rejects.toThrow(reason);
  });

  it('I8 a recording cut short is heard as far as it goes', async () => {
    const file = caf(opus.packets, { valid: 48_000 });
    // The table of sizes comes last here, so the cut must be made in the sound and told in its length.
    const cut = caf(opus.packets.slice(0, 20), { valid: 48_000 });
    expect(readWav((await convert(cut)).bytes).seconds).toBeCloseTo(0.4, 1);
    await expect(convert(file.subarray(0, 300))).rejects.toThrow('empty');
  });

  it('I8 the length of a packet is in its first bytes', () => {
    expect([0x08, 0x0b, 0x80, 0x98, 0x99].map((toc) => opusDuration(Uint8Array.of(toc, 3)))).toEqual([
      960, 2880, 120, 960, 1920,
    ]);
  });
});

describe('AMR', () => {
  it('I8 becomes a WAV of the same length and sound', async () => {
    const { bytes } = await written((output) => convertAmr(fixture('voice.amr'), output));
    const wav = readWav(bytes);
    expect(wav).toMatchObject({ sampleRate: 8000, channels: 1 });
    expect(wav.seconds).toBeCloseTo(2, 1);
    const reference = readWav((await convert(fixture('voice_opus.caf'))).bytes);
    expect(Math.abs(pitch(wav) - pitch(reference))).toBeLessThan(20);
  });

  it('I8 a wide-band recording has twice the rate', async () => {
    const silence = Buffer.concat([
      Buffer.from('#!AMR-WB\n'),
      ...Array.from({ length: 50 }, () => Buffer.from([0x7c])),
    ]);
    const { bytes } = await written((output) => convertAmr(silence, output));
    expect(readWav(bytes)).toMatchObject({ sampleRate: 16_000, channels: 1, seconds: 1 });
  });

  it('I8 hours of silence in few bytes are refused undecoded', async () => {
    const bomb = Buffer.concat([Buffer.from('#!AMR\n'), Buffer.alloc(1024 * 1024, 0x7c)]);
    await expect(written((output) => convertAmr(bomb, output))).rejects.toThrow('too long');
  });

  it.each([Buffer.alloc(0), Buffer.from('#!AMR\n'), fixture('photo.heic')])(
    'I8 what is none is refused',
    async (file) => {
      await expect(written((output) => convertAmr(file, output))).rejects.toThrow('damaged');
    },
  );
});

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

/** Bit by bit, as the Ogg specification writes it. */
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
