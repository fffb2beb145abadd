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
        entries,
        [
          { title: 'TIME', value: ({ at }) => localTime(at) },
          { title: 'WHO', value: ({ name, actor }) => name ?? actor },
          { title: 'ACTION', value: ({ action }) => action },
          { title: 'TARGET', value: ({ target }) => target },
          { title: 'DETAIL', value: ({ detail }) => factsOf(detail) },
        ],
        'The audit log is empty.',
      );
    });
}

const factsOf = (detail: unknown): string =>
  Object.entries(Object(detail))
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(' ');
