import { statfs } from 'node:fs/promises';
import { hostname } from 'node:os';

export interface DiskSpace {
  readonly host: string;
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** Resolves with the total space of the disk that holds the folder, and the free space available to this process. */
export async function diskSpace(folder: string): Promise<DiskSpace> {
  const { bsize, bavail, blocks } = await statfs(folder);
  return { host: hostname(), freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
