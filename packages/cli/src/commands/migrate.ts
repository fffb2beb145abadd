import type { Command } from 'commander';

import { EXIT, ExitError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import { runMaintenance } from '../run-maintenance.ts';

const EXAMPLES = `
Examples:
  footbridge migrate --check
  footbridge migrate`;

/** `footbridge migrate`: applies the schema changes that the service would apply when it starts. */
export function migrateCommand(program: Command): void {
  program
    .command('migrate')
    .addHelpText('after', EXAMPLES)
    .option('--check', 'only list the pending changes; exit code 9 if there are any')
    .action(async (options: { check?: boolean }, command: Command) => {
      const { io, output, beforeChange } = contextOf(command);
      const checkOnly = options.check === true;
      if (!checkOnly) beforeChange('apply the pending database changes; --check lists them');
      const { databases } = await runMaintenance(io, { action: 'migrate', checkOnly }, 'migrations');
      for (const { database, applied, pending } of databases) {
        const changes = pending.length === 0 ? 'up to date' : pending.join(', ');
        output.result(`${database}: ${checkOnly || pending.length === 0 ? '' : 'applied '}${changes}`, {
          database,
          applied: checkOnly ? applied : applied + pending.length,
          ...(checkOnly ? { pending } : { changed: pending }),
        });
      }
      if (checkOnly && databases.some(({ pending }) => pending.length > 0))
        throw new ExitError(EXIT.checkFailed);
    });
}
