import { join } from 'node:path';

import { Child } from '../child.ts';
import type { Program } from './debian-program.ts';

const MAIN = join(import.meta.dirname, 'browser-check-main.ts');
/** For a process that cannot even report that the browser is too slow. */
const GRACE_MS = 60_000;

/**
 * Opens and closes three pages in three contexts of one browser, and resolves to its version. Throws a single line for
 * a browser that does not start, hangs, ends with a context or draws text without a width.
 */
export async function checkBrowser(program: Program, within = 60_000): Promise<string> {
  const child = new Child(process.execPath, [MAIN, JSON.stringify(program), String(within)]);
  const isVerdict = (line: string) => /^(accepted|rejected): (.*)$/.exec(line) ?? undefined;
  const verdict = child.line(isVerdict, within + GRACE_MS, 'the browser was checked');
  const [, word, text = ''] = await verdict.catch(async (error: unknown) => {
    await child.end('SIGKILL');
    throw error;
  });
  await child.exited;
  if (word === 'rejected') throw new Error(text);
  return text;
}
