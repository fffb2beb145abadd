import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** Where the shell would find that program. */
export async function findOnPath(program: string): Promise<string | undefined> {
  for (const dir of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(dir, program);
    const runs = await access(path, constants.X_OK).then(
      () => dir !== '',
      () => false,
    );
    if (runs) return path;
  }
  return undefined;
}
