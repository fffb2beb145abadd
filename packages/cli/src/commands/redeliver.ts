import { redeliverMessage } from '@footbridge/protocol/operator/messages';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { contextOf } from '../command-context.ts';

const EXAMPLES = `
Examples:
  footbridge tail --dir in --status undeliverable --since 1d --no-follow
  footbridge redeliver 01890a5d-ac96-774b-bcce-b302099a8057`;

/**
 * `footbridge redeliver ID`: asks the Mac to resend an inbound message that the CRM did not accept (I2, I6), or allows another attempt
 * for an outbound message that was set aside, when the CRM sends it again (I10).
 */
export function redeliverCommand(program: Command): void {
  program
    .command('redeliver <id>')
    .addHelpText('after', EXAMPLES)
    .action(async (id: string, _options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      const redelivery = await operator().ask(redeliverMessage, { id });
      // The Mac has no copy of an outbound message.
      const done =
        redelivery.seq === 0
          ? 'The message is no longer set aside. Send it again in the CRM.'
          : `Asked the Mac of ${printable(redelivery.locationId)} to resend the message.`;
      output.result(done, { ...redelivery });
      output.hint(`To see the result: footbridge show ${redelivery.id}`);
    });
}
