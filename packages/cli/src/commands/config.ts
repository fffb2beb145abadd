import { fail, pass, warn } from '@footbridge/runtime/finding';
import type { Command } from 'commander';

import { contextOf } from '../command-context.ts';
import { printFindings } from '../print-findings.ts';
import { runMaintenance } from '../run-maintenance.ts';

const EXAMPLES = `
Examples:
  footbridge config check
  footbridge config check --json`;

/** `footbridge config check`: runs the startup checks without starting the service. */
export function configCommand(program: Command): void {
  program
    .command('config')
    .addHelpText('after', EXAMPLES)
    .command('check')
    .description(
      'check all settings in the environment and in .env: values, unknown names, incomplete groups, conflicts',
    )
    .action(async (_options: object, command: Command) => {
      const { io, output } = contextOf(command);
      const { config } = await runMaintenance(io, { action: 'config-check' }, 'config');
      const { problems, warnings, settings } = config;
      const remedy = 'correct it in .env or in the environment; docs/configuration.md lists all settings';
      const count = Object.keys(settings).length;
      printFindings(output, [
        ...problems.map((problem) => fail('settings', problem, remedy)),
        ...warnings.map((warning) => warn('settings', warning, remedy)),
        ...(problems.length === 0
          ? [pass('settings', `${count} set, all others at their defaults; the service can start`)]
          : []),
      ]);
    });
}
