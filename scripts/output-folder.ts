import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Marks a folder whose content an earlier run wrote, so that the next run may delete it. */
const MARKER = '.footbridge-output';

/** The folder contains files that our scripts did not write. */
export class ForeignFilesError extends Error {
  override readonly name = 'ForeignFilesError';
}

/** Creates the folder, or empties it if an earlier run wrote it. Throws a ForeignFilesError for any other folder with files. */
export async function prepareOutputFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const files = await readdir(folder);
  if (files.length > 0 && !files.includes(MARKER))
    throw new ForeignFilesError(
      `${folder} has files that this script did not write. They would be deleted: choose a new or an empty folder.`,
    );
  for (const file of files) await rm(join(folder, file), { recursive: true });
  await writeFile(
    join(folder, MARKER),
    'The next run of the script that wrote this folder deletes its content.\n',
  );
}
