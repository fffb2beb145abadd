export interface Box {
  type: string;
  body: Buffer;
}

/** Iterates over the complete boxes of an ISO media file, or of another box. */
export function* isoBoxes(bytes: Buffer): Generator<Box> {
  for (let at = 0; at + 8 <= bytes.length;) {
    let size = bytes.readUInt32BE(at);
    let head = 8;
    if (size === 1 && at + 16 <= bytes.length) {
      size = Number(bytes.readBigUInt64BE(at + 8));
      head = 16;
    } else if (size === 0) {
      size = bytes.length - at;
    }
    if (size < head || at + size > bytes.length) return;
    yield { type: bytes.toString('latin1', at + 4, at + 8), body: bytes.subarray(at + head, at + size) };
    at += size;
  }
}

/** Returns the body of the first box at a path such as `mdia`, `minf`, `stbl`. */
export function isoBox(bytes: Buffer, ...path: string[]): Buffer | undefined {
  let found: Buffer | undefined = bytes;
  for (const step of path) {
    if (found === undefined) return undefined;
    found = isoBoxes(found).find(({ type }) => type === step)?.body;
  }
  return found;
}

export interface SequenceTrack {
  id: number;
  width: number;
  height: number;
  /** How long each frame is shown, in file order. */
  delaysMs: number[];
}

/** Returns the image track of a HEIF file that has more than one frame. */
export function sequenceTrack(file: Buffer, maxFrames: number): SequenceTrack | undefined {
  const movie = isoBox(file, 'moov');
  if (movie === undefined) return undefined;
  for (const { type, body: track } of isoBoxes(movie)) {
    if (type !== 'trak') continue;
    const handler = isoBox(track, 'mdia', 'hdlr')?.toString('latin1', 8, 12);
    if (handler !== 'pict' && handler !== 'vide') continue;
    const found = readTrack(track, maxFrames);
    if (found && found.delaysMs.length > 1) return found;
  }
  return undefined;
}

function readTrack(track: Buffer, maxFrames: number): SequenceTrack | undefined {
  const header = isoBox(track, 'tkhd');
  const media = isoBox(track, 'mdia', 'mdhd');
  const times = isoBox(track, 'mdia', 'minf', 'stbl', 'stts');
  const sample = isoBox(track, 'mdia', 'minf', 'stbl', 'stsd');
  if (
    !header ||
    !media ||
    !times ||
    !sample ||
    header.length < 24 ||
    media.length < 24 ||
    sample.length < 44
  ) {
    return undefined;
  }
  // Version 1 of these boxes has two dates of eight bytes each.
  const timescale = media.readUInt32BE(media.readUInt8(0) === 1 ? 20 : 12);
  return {
    id: header.readUInt32BE(header.readUInt8(0) === 1 ? 20 : 12),
    width: sample.readUInt16BE(40),
    height: sample.readUInt16BE(42),
    delaysMs: readDelays(times, timescale, maxFrames),
  };
}

/** Stops one past the limit: a run of four bytes can claim four thousand million frames. */
function readDelays(times: Buffer, timescale: number, maxFrames: number): number[] {
  const delays: number[] = [];
  for (let at = 8; at + 8 <= times.length && delays.length <= maxFrames; at += 8) {
    const run = Math.min(times.readUInt32BE(at), maxFrames + 1 - delays.length);
    const delayMs = timescale > 0 ? (1000 * times.readUInt32BE(at + 4)) / timescale : 100;
    delays.push(...Array.from({ length: run }, () => delayMs));
  }
  return delays;
}
