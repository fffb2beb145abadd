import { ask } from './findings.ts';
import type { Finder } from './findings.ts';

/**
 * Returns whether a suite that needs this server can run. The first suite of a run that cannot says so in one line,
 * or fails where CI is true, since a run that silently left tests out must not pass. The others are skipped.
 */
export async function available(finder: Finder<unknown>): Promise<boolean> {
  const finding = await ask(finder);
  if ('found' in finding) return true;
  if (!finding.isFirst) return false;
  if (process.env['CI'] === 'true')
    throw new Error(`CI is true, and there is no ${finder.name}: ${finding.missing}`);
  process.stderr.write(`skipped: no ${finder.name}: ${finding.missing}\n`);
  return false;
}
