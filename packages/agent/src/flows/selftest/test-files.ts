import type { TestFiles } from './checks.ts';

/** A PNG of one pixel. */
const IMAGE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** Writes the files that a selftest sends. `write` returns the path of a file. */
export async function writeTestFiles(
  write: (name: string, bytes: Uint8Array) => Promise<string>,
): Promise<TestFiles> {
  const file = async (name: string, mime: string, bytes: Uint8Array) => ({
    path: await write(name, bytes),
    name,
    mime,
  });
  return {
    image: await file('footbridge-test.png', 'image/png', IMAGE),
    audio: await file('footbridge-test.wav', 'audio/wav', silence()),
  };
}

const SAMPLE_RATE = 8000;

/** A WAV file of one second: one channel, 8 bits. */
function silence(): Buffer {
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + SAMPLE_RATE, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(SAMPLE_RATE, 24);
  header.writeUInt32LE(SAMPLE_RATE, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(SAMPLE_RATE, 40);
  return Buffer.concat([header, Buffer.alloc(SAMPLE_RATE, 0x80)]);
}
