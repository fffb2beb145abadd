import { codeEntry } from '@footbridge/protocol/codes';
import { messageOutcome } from '@footbridge/protocol/message-outcome';
import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { showMessage } from '@footbridge/protocol/operator/messages';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { contextOf } from '../command-context.ts';
import { clock, localTime } from '../format-time.ts';
import { describeCode } from './explain.ts';
import { arrow, describeStep, lengthOf } from './format-message.ts';

type MessageHistory = ResponseOf<typeof showMessage>;
type Request = MessageHistory['requests'][number];

const EXAMPLES = `
Examples:
  footbridge show 01890a5d-ac96-774b-bcce-b302099a8057
  footbridge show GKJxs4P5L8dWc5CFUITM --json`;

/** `footbridge show ID`: what became of one message, and every request that carried it. */
export function showCommand(program: Command): void {
  program
    .command('show <id>')
    .addHelpText('after', EXAMPLES)
    .action(async (id: string, _options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      const history = await operator().ask(showMessage, { id });
      const { outcome, sentence } = messageOutcome(history.requests);
      output.result(formatHistory(history, sentence), { ...history, outcome, sentence });
      if (history.direction === 'inbound' && history.status === 'undeliverable')
        output.hint(`The message is still on the Mac. To resend it: footbridge redeliver ${history.id}`);
    });
}

export function formatHistory(history: MessageHistory, sentence: string): string {
  const { id, messageId, direction, locationId, kind, phone, requests } = history;
  const head = [
    `${printable(messageId ?? id)}  ${arrow(history)} ${direction}`,
    printable(locationId),
    `${kind} ${lengthOf(history)}`,
    printable(phone ?? ''),
  ];
  const blocks = requests.map((request, index) => formatRequest(request, index, requests.length));
  const codes = new Set(requests.flatMap(({ code }) => code ?? []));
  const explanations = [...codes].flatMap((code) => {
    const entry = codeEntry(code, 'status') ?? codeEntry(code);
    return entry === undefined ? [] : [describeCode(entry)];
  });
  return [
    `${head.filter((part) => part !== '').join('  ')}\n${printable(sentence)}`,
    ...blocks,
    ...explanations,
  ].join('\n\n');
}

function formatRequest(
  { id, createdAt, steps, status, code, text }: Request,
  index: number,
  count: number,
): string {
  const lines = steps.map((step, at) => {
    const before = steps[at - 1];
    const elapsed = before === undefined ? '' : `+${Date.parse(step.at) - Date.parse(before.at)} ms`;
    return `  ${clock(step.at, true)}  ${describeStep(step).padEnd(56)} ${elapsed}`.trimEnd();
  });
  const number = count === 1 ? 'Request' : `Request ${index + 1} of ${count}`;
  const end = `  ${status}${code === null ? '' : ` ${printable(code)}`}`;
  const shown = typeof text === 'string' ? [`  text  ${printable(text)}`] : [];
  return [`${number}  ${localTime(createdAt)}  id ${id}`, ...shown, ...lines, end].join('\n');
}
