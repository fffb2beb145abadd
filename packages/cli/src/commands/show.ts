import { codeEntry } from '@footbridge/protocol/codes';
import type { Command } from 'commander';

import { printable } from '../output.ts';
import { toolsOf } from '../tools.ts';
import { describe } from './explain.ts';
import { arrow, clock, lengthOf, stepWords } from './message-words.ts';
import type { Message, Step } from './message-words.ts';

interface Trail extends Message {
  readonly steps: readonly Step[];
}

const EXAMPLES = `
Examples:
  footbridge show 01890a5d-ac96-774b-bcce-b302099a8057
  footbridge show GKJxs4P5L8dWc5CFUITM --json`;

/** `footbridge show ID`: everything that happened to one message. */
export function showCommand(program: Command): void {
  program
    .command('show <id>')
    .description('the trail of one message, by requestId, messageId or guid')
    .addHelpText('after', EXAMPLES)
    .action(async (id: string, _options: object, command: Command) => {
      const { output, operator } = toolsOf(command);
      const trail = await operator().call<Trail>('GET', `/operator/messages/${encodeURIComponent(id)}`);
      output.result(picture(trail), { ...trail });
      if (trail.direction === 'inbound' && trail.status === 'undeliverable')
        output.hint(`The Mac keeps it. To have it sent again: footbridge redeliver ${trail.id}`);
    });
}

function picture(trail: Trail): string {
  const head = [
    `${printable(trail.messageId ?? trail.id)}  ${arrow(trail)} ${trail.direction}`,
    printable(trail.locationId),
    `${trail.kind} ${lengthOf(trail)}`,
    printable(trail.phone ?? ''),
    `id ${trail.id}`,
  ];
  const lines = trail.steps.map((step, index) => {
    const before = trail.steps[index - 1];
    const took = before === undefined ? '' : `+${Date.parse(step.at) - Date.parse(before.at)} ms`;
    return `  ${clock(step.at, true)}  ${stepWords(step).padEnd(56)} ${took}`.trimEnd();
  });
  const entry = trail.code === null ? undefined : (codeEntry(trail.code, 'status') ?? codeEntry(trail.code));
  const why = entry === undefined ? [] : ['', describe(entry)];
  const end = `  ${trail.status}${trail.code === null ? '' : ` ${printable(trail.code)}`}`;
  return [head.filter((part) => part !== '').join('  '), ...lines, end, ...why].join('\n');
}
