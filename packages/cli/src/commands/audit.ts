import { listAudit } from '@footbridge/protocol/operator/watching';
import type { Command } from 'commander';

import { contextOf } from '../command-context.ts';
import { localTime } from '../format-time.ts';
import { wholeNumber } from '../option-values.ts';

const EXAMPLES = `
Examples:
  footbridge audit
  footbridge audit --limit 200 --json`;

/** `footbridge audit`: lists who changed what. */
export function auditCommand(program: Command): void {
  program
    .command('audit')
    .option('--limit <count>', 'number of entries, at most 200', wholeNumber(1, 200), 50)
    .addHelpText('after', EXAMPLES)
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const { output, operator } = contextOf(command);
      const { entries } = await operator().ask(listAudit, { limit });
      output.rows(
        entries.map((entry) => ({ ...entry })),
        [
          { title: 'TIME', value: (row) => localTime(String(row['at'])) },
          { title: 'WHO', value: (row) => String(row['name'] ?? row['actor']) },
          { title: 'ACTION', value: (row) => String(row['action']) },
          { title: 'TARGET', value: (row) => String(row['target']) },
          { title: 'DETAIL', value: (row) => factsOf(row['detail']) },
        ],
        'The audit log is empty.',
      );
    });
}

const factsOf = (detail: unknown): string =>
  Object.entries(Object(detail))
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(' ');
