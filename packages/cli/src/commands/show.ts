import { codeEntry } from '@footbridge/protocol/codes';
import type { Command } from 'commander';

import { printable } from '../output.ts';
import { contextOf } from '../command-context.ts';
import { describeCode } from './explain.ts';
import { arrow, clock, lengthOf, describeStep } from './format-message.ts';
import type { Message, Step } from './format-message.ts';

interface MessageHistory extends Message {
  readonly steps: readonly Step[];
}

const EXAMPLES = `
Examples:
  footbridge show 01890a5d-ac96-774b-bcce-b302099a8057
  footbridge show GKJxs4P5L8dWc5CFUITM --json`;

/** `footbridge show ID`: the history of one message. */
export function showCommand(program: Command): void {
  program
    .command('show <id>')
    .description('show the history of a message; by requestId, messageId or guid')
    .addHelpText('after', EXAMPLES)
    .action(async (id: string, _options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      const path = `/operator/messages/${encodeURIComponent(id)}`;
      const history = await operator().call<MessageHistory>('GET', path);
      output.result(formatHistory(history), { ...history });
      if (history.direction === 'inbound' && history.status === 'undeliverable')
        output.hint(`The message is still on the Mac. To resend it: footbridge redeliver ${history.id}`);
    });
}

function formatHistory(history: MessageHistory): string {
  const { id, messageId, direction, locationId, kind, phone, code, status, steps } = history;
  const head = [
    `${printable(messageId ?? id)}  ${arrow(history)} ${direction}`,
    printable(locationId),
    `${kind} ${lengthOf(history)}`,
    printable(phone ?? ''),
    `id ${id}`,
  ];
  const lines = steps.map((step, index) => {
    const before = steps[index - 1];
    const elapsed = before === undefined ? '' : `+${Date.parse(step.at) - Date.parse(before.at)} ms`;
    return `  ${clock(step.at, true)}  ${describeStep(step).padEnd(56)} ${elapsed}`.trimEnd();
  });
  const entry = code === null ? undefined : (codeEntry(code, 'status') ?? codeEntry(code));
  const explanation = entry === undefined ? [] : ['', describeCode(entry)];
  const end = `  ${status}${code === null ? '' : ` ${printable(code)}`}`;
  return [head.filter((part) => part !== '').join('  '), ...lines, end, ...explanation].join('\n');
}
