import { countFindings, formatCounts, formatFindings } from '@footbridge/runtime/finding';
import type { Finding } from '@footbridge/runtime/finding';

import { EXIT, ExitError } from './cli-error.ts';
import type { Output } from './output.ts';

/** Prints all findings and their number. Throws an ExitError if one failed. */
export function printFindings(output: Output, findings: readonly Finding[]): void {
  const texts = formatFindings(findings);
  // `remedy` is the former name of `next`.
  for (const [at, finding] of findings.entries())
    output.result(texts[at] ?? '', {
      ...finding,
      ...(finding.next !== undefined && { remedy: finding.next }),
    });
  const counts = countFindings(findings);
  output.hint(formatCounts(counts));
  if (counts.failures > 0) throw new ExitError(EXIT.checkFailed);
}
