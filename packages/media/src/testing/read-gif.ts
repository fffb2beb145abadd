export interface GifFrame {
  /** The composed canvas. */
  rgba: Uint8Array;
  delayMs: number;
}

export interface Gif {
  width: number;
  height: number;
  /** Repetitions: 0 for endless, undefined for none. */
  repeat: number | undefined;
  frames: GifFrame[];
}

/** An independent reader, so that a writer is not tested against itself. */
export function readGif(file: Buffer): Gif {
  const width = file.readUInt16LE(6);
  const height = file.readUInt16LE(8);
  const table = (at: number, flags: number) =>
    flags & 0x80 ? file.subarray(at, at + 3 * 2 ** ((flags & 7) + 1)) : undefined;
  const globalTable = table(13, file.readUInt8(10));
  let at = 13 + (globalTable?.length ?? 0);
  let repeat: number | undefined;
  let control = { dispose: 0, delayMs: 0, clear: -1 };
  const canvas = new Uint8Array(width * height * 4);
  const frames: GifFrame[] = [];

  const blocks = (): Buffer => {
    const parts: Buffer[] = [];
    for (let size = file.readUInt8(at++); size > 0; size = file.readUInt8(at++)) {
      parts.push(file.subarray(at, at + size));
      at += size;
    }
    return Buffer.concat(parts);
  };

  for (;;) {
    const kind = file.readUInt8(at++);
    if (kind === 0x3b) return { width, height, repeat, frames };
    if (kind === 0x21) {
      const label = file.readUInt8(at++);
      const data = blocks();
      if (label === 0xff && data.toString('latin1', 0, 11) === 'NETSCAPE2.0') repeat = data.readUInt16LE(12);
      if (label === 0xf9) {
        const flags = data.readUInt8(0);
        control = {
          dispose: (flags >> 2) & 7,
          delayMs: data.readUInt16LE(1) * 10,
          clear: flags & 1 ? data.readUInt8(3) : -1,
        };
      }
      continue;
    }
    const [left, top] = [file.readUInt16LE(at), file.readUInt16LE(at + 2)];
    const [columns, rows] = [file.readUInt16LE(at + 4), file.readUInt16LE(at + 6)];
    const localTable = table(at + 9, file.readUInt8(at + 8));
    at += 9 + (localTable?.length ?? 0);
    const colours = localTable ?? globalTable ?? Buffer.alloc(0);
    const codeSize = file.readUInt8(at++);
    const indices = unpack(blocks(), codeSize, columns * rows);
    const area = { left, top, columns, rows };
    const before = canvas.slice();
    indices.forEach((index, pixel) => {
      if (index === control.clear) return;
      const target = ((top + Math.floor(pixel / columns)) * width + left + (pixel % columns)) * 4;
      canvas.set([...colours.subarray(index * 3, index * 3 + 3), 255], target);
    });
    frames.push({ rgba: canvas.slice(), delayMs: control.delayMs });
    if (control.dispose === 2) erase(canvas, width, area);
    if (control.dispose === 3) canvas.set(before);
  }
}

function erase(
  canvas: Uint8Array,
  width: number,
  { left, top, columns, rows }: { left: number; top: number; columns: number; rows: number },
): void {
  for (let row = top; row < top + rows; row++) {
    canvas.fill(0, (row * width + left) * 4, (row * width + left + columns) * 4);
  }
}

function unpack(data: Buffer, codeSize: number, expected: number): number[] {
  const clear = 1 << codeSize;
  const roots = Array.from({ length: clear + 2 }, (_, value) => [value]);
  let strings = [...roots];
  let width = codeSize + 1;
  let previous: number[] | undefined;
  const out: number[] = [];
  let bit = 0;
  while (out.length < expected) {
    let code = 0;
    for (let i = 0; i < width; i++, bit++) code |= (((data[bit >> 3] ?? 0) >> (bit & 7)) & 1) << i;
    if (code === clear + 1) break;
    if (code === clear) {
      strings = [...roots];
      width = codeSize + 1;
      previous = undefined;
      continue;
    }
    const known = strings[code];
    const string = known ?? [...(previous ?? []), previous?.[0] ?? 0];
    out.push(...string);
    if (previous && strings.length < 4096) strings.push([...previous, string[0] ?? 0]);
    if (strings.length === 1 << width && width < 12) width += 1;
    previous = string;
  }
  return out;
}
