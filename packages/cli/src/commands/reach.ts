import { askReach } from '@footbridge/protocol/operator/people';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { contextOf } from '../command-context.ts';
import { PHONE_HELP, phoneOf } from '../phone-option.ts';

const EXAMPLES = `
Examples:
  footbridge reach ve9EPM428h8vShlRW1KT --phone +15555550100
  footbridge reach ve9EPM428h8vShlRW1KT --phone - < number.txt`;

/** `footbridge reach LOCATION --phone NUMBER`: asks the Mac of a location how it reaches a person. */
export function reachCommand(program: Command): void {
  program
    .command('reach <location>')
    .requiredOption('--phone <number>', PHONE_HELP)
    .addHelpText('after', EXAMPLES)
    .action(async (location: string, options: { phone: string }, command: Command) => {
      const { output, operator } = contextOf(command);
      const found = await operator().ask(askReach, { locationId: location, phone: phoneOf(options.phone) });
      output.result(`${found.phone}: ${found.reach}. ${printable(found.reason)}`, { ...found });
    });
}
