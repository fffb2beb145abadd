import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, expect, it } from 'vitest';

import { readAudioDuration } from '../../ports/messages/audio-duration.ts';
import { silentRecording } from './silent-recording.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

it('the recording of the selftest is a valid M4A file of one second', async () => {
  const path = join(await tempDir(cleanup), 'silence.m4a');
  const bytes = silentRecording();
  writeFileSync(path, bytes);
  expect(Math.round(readAudioDuration(path) ?? 0)).toBe(998);
  // The sample table says where the first frame is.
  const offset = bytes.readUInt32BE(bytes.indexOf('stco') + 12);
  expect(bytes.toString('latin1', offset - 4, offset)).toBe('mdat');
  expect(bytes.readUInt32BE(offset - 8)).toBe(8 + 43 * 6);
  expect(bytes.readUInt32BE(bytes.indexOf('moov') - 4)).toBe(bytes.length - bytes.indexOf('moov') + 4);
});
