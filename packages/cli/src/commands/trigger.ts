import { CLASSIC_TYPES } from '@footbridge/protocol/metadata';
import { showSession } from '@footbridge/protocol/operator/session';
import { Argument, Option } from 'commander';
import type { Command } from 'commander';

import { EXIT, ExitError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import { followMessage } from '../follow-message.ts';
import { httpUrl, phoneNumber, seconds } from '../option-values.ts';
import { SAMPLE_EVENTS } from '../sample-events.ts';
import type { EventOptions } from '../sample-events.ts';
import { createSimulatedMac } from '../simulated-mac.ts';

interface Options extends EventOptions {
  readonly control?: string;
  readonly wait?: number | true;
}

const EXAMPLES = `
Events:
${SAMPLE_EVENTS.map(({ name, about }) => `  ${name.padEnd(20)} ${about}`).join('\n')}

Examples:
  footbridge trigger inbound.text --from +14155550100 --text "Are you open?" --wait
  footbridge trigger reaction.add --type love`;

const DEFAULT_PORT = '4630';
const DEFAULT_WAIT_SEC = 60;

/** `footbridge trigger EVENT`: makes something happen on a simulated Mac, through its control port. */
export function triggerCommand(program: Command): void {
  program
    .command('trigger')
    .addArgument(new Argument('<event>').choices(SAMPLE_EVENTS.map(({ name }) => name)))
    .option('--from <number>', 'the person who causes the event', phoneNumber, '+14155550177')
    .option('--text <text>', 'the text', 'A sample text')
    .option('--target <guid>', 'the message that the event refers to')
    .addOption(new Option('--type <type>', 'the Tapback').choices(CLASSIC_TYPES).default('love'))
    .option('--emoji <emoji>', 'an emoji instead of a Tapback')
    .option('--code <code>', 'the code with which the next text fails', 'TIMEOUT')
    .option(
      '--control <url>',
      `control port of the simulated Mac (default: http://127.0.0.1:${DEFAULT_PORT})`,
      httpUrl,
    )
    .option('--wait [seconds]', `wait until the CRM has it (default: ${DEFAULT_WAIT_SEC} seconds)`, seconds)
    .addHelpText('after', EXAMPLES)
    .action(async (name: string, options: Options, command: Command) => {
      const { io, output, operator, timeoutMs, beforeChange } = contextOf(command);
      const port = io.env['FOOTBRIDGE_CONTROL_PORT'] || DEFAULT_PORT;
      const mac = createSimulatedMac(options.control ?? `http://127.0.0.1:${port}`, timeoutMs);
      const event = SAMPLE_EVENTS.find((one) => one.name === name);
      if (event === undefined) return;
      const client = options.wait === undefined ? undefined : operator();
      // Fails before the event if --wait could not follow it.
      await client?.ask(showSession);
      beforeChange(`trigger ${name} on the simulated Mac`);
      const { guid, sentence } = await event.trigger(mac, options);
      output.result(sentence, { event: name, guid });
      if (guid === null) return;
      if (client === undefined) {
        output.hint(`To see what became of it: footbridge show ${guid}`);
        return;
      }
      const withinMs = (options.wait === true ? DEFAULT_WAIT_SEC : (options.wait ?? 0)) * 1000;
      const { outcome, sentence: end } = await followMessage({ client, output, io, id: guid, withinMs });
      output.result(end, { guid, outcome, sentence: end });
      if (outcome !== 'delivered') throw new ExitError(EXIT.failed);
    });
}
