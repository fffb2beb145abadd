import { crc32, deflateSync } from 'node:zlib';

/** A file of at most this many bytes: `unit` over and over, after `start`. */
export function repeatedTo(unit: string, size: number, start = ''): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  const [head, part] = [Buffer.from(start, 'latin1'), Buffer.from(unit, 'latin1')];
  bytes.set(head.subarray(0, size));
  const rest = Buffer.alloc(Math.min(size - head.length, 65_536 - (65_536 % part.length)), part);
  for (let at = head.length; at < size; at += rest.length) bytes.set(rest.subarray(0, size - at), at);
  return bytes;
}

function chunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), content]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  checksum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, checksum]);
}

const PNG = '\x89PNG\r\n\x1a\n';

/** A PNG of one colour. */
export function pngOf(width: number, height: number, { isApple = false, frames = 0 } = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 6], 8);
  const data = deflateSync(Buffer.alloc(height * (1 + 4 * width)), { level: 9 });
  const control = Buffer.alloc(26);
  control.writeUInt32BE(width, 4);
  control.writeUInt32BE(height, 8);
  const count = Buffer.alloc(8);
  count.writeUInt32BE(frames);
  const frame = (index: number) => [
    chunk('fcTL', control),
    index === 0 ? chunk('IDAT', data) : chunk('fdAT', Buffer.concat([Buffer.alloc(4), data])),
  ];
  return Buffer.concat([
    Buffer.from(PNG, 'latin1'),
    ...(isApple ? [chunk('CgBI', Buffer.alloc(4))] : []),
    chunk('IHDR', header),
    ...(frames > 0
      ? [chunk('acTL', count), ...Array.from({ length: frames }, (_, index) => frame(index)).flat()]
      : [chunk('IDAT', isApple ? data.subarray(2) : data)]),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
