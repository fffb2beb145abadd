import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { asDeviceId } from '@footbridge/protocol/ids';
import type { DeviceId } from '@footbridge/protocol/ids';

import { writePrivateFile } from './private-file.ts';

/** Returns the saved device id, or generates and saves one. With a stable id the Mac keeps its seat of the license. */
export async function stableDeviceId(dataDir: string): Promise<DeviceId> {
  const path = join(dataDir, 'device-id');
  const saved = asDeviceId((await readFile(path, 'utf8').catch(() => '')).trim());
  if (saved !== undefined) return saved;
  const generated = asDeviceId(randomUUID());
  if (generated === undefined) throw new Error('A UUID is not a valid device id');
  await writePrivateFile(path, generated);
  return generated;
}
