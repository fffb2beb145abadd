import { startCapture, stopCapture } from '@footbridge/protocol/operator/people';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { contextOf } from '../command-context.ts';
import { localTime } from '../format-time.ts';

const EXAMPLES = `
Examples:
  footbridge capture ve9EPM428h8vShlRW1KT
  footbridge capture ve9EPM428h8vShlRW1KT --off`;

/** `footbridge capture LOCATION`: shows the texts of a location for 15 minutes. */
export function captureCommand(program: Command): void {
  program
    .command('capture <location>')
    .option('--off', 'stop showing texts now', false)
    .addHelpText('after', EXAMPLES)
    .action(async (location: string, { off }: { off: boolean }, command: Command) => {
      const { output, operator } = contextOf(command);
      if (off) {
        await operator().ask(stopCapture, { locationId: location });
        output.result(`The texts of ${printable(location)} are hidden again.`, { locationId: location });
        return;
      }
      const { until } = await operator().ask(startCapture, { locationId: location });
      output.result(`New texts of ${printable(location)} are shown until ${localTime(until)}.`, {
        locationId: location,
        until,
      });
      output.hint('To see the text of a message: footbridge show ID');
    });
}
