import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** Returns the path of a program as the shell would find it. */
export async function findOnPath(
  program: string,
  path = process.env['PATH'] ?? '',
): Promise<string | undefined> {
  for (const dir of path.split(delimiter)) {
    const found = join(dir, program);
    const runs = await access(found, constants.X_OK).then(
      () => dir !== '',
      () => false,
    );
    if (runs) return found;
  }
  return undefined;
}
