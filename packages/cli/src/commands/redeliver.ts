import type { Command } from 'commander';

import { printable } from '../output.ts';
import { toolsOf } from '../tools.ts';

interface Asked {
  readonly id: string;
  readonly locationId: string;
  /** The number under which the Mac keeps it. */
  readonly seq: number;
}

const EXAMPLES = `
Examples:
  footbridge tail --dir in --status undeliverable --since 1d --no-follow
  footbridge redeliver 01890a5d-ac96-774b-bcce-b302099a8057`;

/** `footbridge redeliver ID`: the Mac sends an inbound message again that it was told to keep (I2, I6). */
export function redeliverCommand(program: Command): void {
  program
    .command('redeliver <id>')
    .description('have the Mac send an inbound message again that the CRM does not have')
    .addHelpText('after', EXAMPLES)
    .action(async (id: string, _options: object, command: Command) => {
      const { output, operator } = toolsOf(command);
      const path = `/operator/messages/${encodeURIComponent(id)}/redeliver`;
      const asked = await operator().call<Asked>('POST', path);
      output.result(`The Mac of ${printable(asked.locationId)} was asked to send it again.`, { ...asked });
      output.hint(`What becomes of it: footbridge show ${asked.id}`);
    });
}
