import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';

import type { LocalFile } from '../messages.ts';

const run = promisify(execFile);
const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 64 * 1024;
/** Opus, 24 kHz, mono, as Messages records it. An iPhone shows PCM in the same container with a duration of 0 seconds. */
const FORMAT = ['-f', 'caff', '-d', 'opus@24000', '-c', '1', '-b', '32000'];
const CAF_MAGIC = Buffer.from('caff');

/** The name that Messages gives its own recordings. */
export const VOICE_NAME = 'Audio Message.caf';

/**
 * Converts a recording with `afconvert`, a program of macOS, and passes the converted file to `use`. Removes the file afterwards. Resolves
 * with undefined when the recording cannot be converted.
 */
export async function withVoiceFile<T>(
  afconvert: string,
  file: LocalFile,
  use: (voice: LocalFile) => Promise<T>,
): Promise<T | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'footbridge-voice-'));
  try {
    // Other users can see the arguments of a process, so they do not contain the name of the recording.
    const extension = extname(file.name);
    const input = join(folder, `input${/^\.[a-z0-9]{1,5}$/i.test(extension) ? extension : ''}`);
    const path = join(folder, 'output.caf');
    const limits = { timeout: TIMEOUT_MS, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT_BYTES } as const;
    const isConverted = await copyFile(file.path, input)
      .then(() => run(afconvert, [...FORMAT, input, path], limits))
      .then(
        () => isCaf(path),
        () => false,
      );
    return isConverted ? await use({ path, name: VOICE_NAME, mime: 'audio/x-caf' }) : undefined;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function isCaf(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || found.size <= CAF_MAGIC.length) return false;
  const handle = await open(path);
  try {
    const { buffer } = await handle.read(Buffer.alloc(CAF_MAGIC.length), 0, CAF_MAGIC.length, 0);
    return buffer.equals(CAF_MAGIC);
  } finally {
    await handle.close();
  }
}
