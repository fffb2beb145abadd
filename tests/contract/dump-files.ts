import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Every byte of every file below a folder, as text that can be searched. */
export async function dumpFiles(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const texts = await Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name), 'utf8')));
  return texts.join('\n');
}
