/** AAC-LC: the object type 2, the rate number 4 (44.1 kHz) and one channel. */
const DECODER_CONFIG = [0x12, 0x08];
const SAMPLE_RATE = 44_100;
/** One frame of silence. */
const FRAME = [0x00, 0xc8, 0x00, 0x80, 0x23, 0x80];
const FRAME_SAMPLES = 1024;
const FRAMES = 43;
const DURATION = FRAMES * FRAME_SAMPLES;
const UNITY_MATRIX = u32(0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000);
/** `und`, in five bits per letter. */
const NO_LANGUAGE = 0x55c4;
const FULL_VOLUME = 0x0100;

/** Returns an M4A file: a second of silence, as the recorder of a phone would write it. */
export function silentRecording(): Buffer {
  const type = box('ftyp', text('M4A '), u32(0), text('M4A mp42isom'));
  const media = box('mdat', ...Array.from({ length: FRAMES }, () => Buffer.from(FRAME)));
  const firstFrame = type.length + 8;
  const header = u32(0, 0, SAMPLE_RATE, DURATION);
  const movie = [u32(0x1_0000), u16(FULL_VOLUME, 0), u32(0, 0), UNITY_MATRIX, u32(0, 0, 0, 0, 0, 0, 2)];
  const track = [u32(0, 0, 1, 0, DURATION, 0, 0), u16(0, 0, FULL_VOLUME, 0), UNITY_MATRIX, u32(0, 0)];
  return Buffer.concat([
    type,
    media,
    box(
      'moov',
      fullBox('mvhd', 0, header, ...movie),
      box(
        'trak',
        fullBox('tkhd', 7, ...track),
        box(
          'mdia',
          fullBox('mdhd', 0, header, u16(NO_LANGUAGE, 0)),
          fullBox('hdlr', 0, u32(0), text('soun'), u32(0, 0, 0), text('\0')),
          box(
            'minf',
            fullBox('smhd', 0, u32(0)),
            box('dinf', fullBox('dref', 0, u32(1), fullBox('url ', 1))),
            sampleTable(firstFrame),
          ),
        ),
      ),
    ),
  ]);
}

function sampleTable(firstFrame: number): Buffer {
  const format = [u16(0, 0, 0, 1), u32(0, 0), u16(1, 16, 0, 0), u32(SAMPLE_RATE * 0x1_0000)];
  return box(
    'stbl',
    fullBox('stsd', 0, u32(1), box('mp4a', ...format, decoder())),
    fullBox('stts', 0, u32(1, FRAMES, FRAME_SAMPLES)),
    fullBox('stsc', 0, u32(1, 1, FRAMES, 1)),
    fullBox('stsz', 0, u32(FRAME.length, FRAMES)),
    fullBox('stco', 0, u32(1, firstFrame)),
  );
}

/** The descriptors of MPEG-4: 3 has 4 and 6, 4 has 5. */
function decoder(): Buffer {
  const MPEG4_AUDIO = [0x40, 0x15];
  const sizes = Array<number>(11).fill(0);
  const config = descriptor(4, [...MPEG4_AUDIO, ...sizes, ...descriptor(5, DECODER_CONFIG)]);
  return fullBox('esds', 0, Buffer.from(descriptor(3, [0, 1, 0, ...config, ...descriptor(6, [2])])));
}

const descriptor = (tag: number, bytes: readonly number[]): number[] => [tag, bytes.length, ...bytes];

function box(type: string, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([u32(content.length + 8), text(type), content]);
}

/** A box with a version, which is 0, and flags. */
const fullBox = (type: string, flags: number, ...parts: readonly Buffer[]): Buffer =>
  box(type, u32(flags), ...parts);

const text = (value: string): Buffer => Buffer.from(value, 'latin1');

function u32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
}

function u16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, 2 * index);
  return bytes;
}
