import { open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Makes a renamed file survive a power failure. */
export async function syncFolder(file: string): Promise<void> {
  const folder = await open(dirname(file));
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
