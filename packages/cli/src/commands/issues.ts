import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { everyPage } from '@footbridge/protocol/operator/every-page';
import { listIssues } from '@footbridge/protocol/operator/watching';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { contextOf } from '../command-context.ts';
import { localTime } from '../format-time.ts';
import type { OperatorClient } from '../operator-client.ts';

type Issue = ResponseOf<typeof listIssues>['issues'][number];

const EXAMPLES = `
Examples:
  footbridge issues
  footbridge issues --closed --json`;

const SHOWN_LOCATIONS = 5;

/** `footbridge issues`: lists the open issues, or the closed ones. */
export function issuesCommand(program: Command): void {
  program
    .command('issues')
    .option('--closed', 'show closed issues, most recent first')
    .addHelpText('after', EXAMPLES)
    .action(async ({ closed = false }: { closed?: boolean }, command: Command) => {
      const { output, operator } = contextOf(command);
      const issues = await allIssues(operator(), closed ? 'closed' : 'open');
      for (const issue of issues) output.result(describe(issue), { ...issue });
      if (issues.length === 0)
        output.hint(closed ? 'There are no closed issues.' : 'There are no open issues.');
    });
}

export const allIssues = (client: OperatorClient, state: 'open' | 'closed'): Promise<readonly Issue[]> =>
  everyPage(
    (page) => client.ask(listIssues, { state, ...page }),
    ({ issues }) => issues,
  );

function describe({ kind, sentence, action, since, closedAt, locationIds, reopened }: Issue): string {
  const span =
    closedAt === null ? `since ${localTime(since)}` : `${localTime(since)} to ${localTime(closedAt)}`;
  const again = reopened > 0 ? `  opened again: ${reopened}` : '';
  return [`${kind}  ${span}  ${affected(locationIds)}${again}`, `  ${sentence}`, `  Next: ${action}`]
    .map(printable)
    .join('\n');
}

function affected(locationIds: Issue['locationIds']): string {
  if (locationIds === null) return 'all locations';
  const rest = locationIds.length - SHOWN_LOCATIONS;
  return `${locationIds.slice(0, SHOWN_LOCATIONS).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
