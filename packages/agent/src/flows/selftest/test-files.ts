import type { TestFiles } from './checks.ts';
import { silentRecording } from './silent-recording.ts';

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
    audio: await file('footbridge-test.m4a', 'audio/mp4', silentRecording()),
  };
}
