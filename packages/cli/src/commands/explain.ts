import { CODES, codeEntries } from '@footbridge/protocol/codes';
import type { Channel, CodeEntry, Retry } from '@footbridge/protocol/codes';
import type { Command } from 'commander';

import { EXIT, Failure } from '../failure.ts';
import { toolsOf } from '../tools.ts';

const EXAMPLES = `
Examples:
  footbridge explain EMOJI_NOT_IN_RECENTS
  footbridge explain`;

const WHERE: Readonly<Record<Channel, string>> = {
  webhook: 'answer of the webhook',
  status: 'error.code of a status callback',
  inbound: 'inbound message that the CRM does not have',
  oauth: 'answer of the OAuth callback',
  enrolment: 'answer to a Mac',
  operator: 'answer of the operator API',
};

const RETRY: Readonly<Record<Retry, string>> = {
  yes: 'yes, after a while',
  no: 'no, the same request fails again',
  sometimes: 'sometimes, the message tells',
  later: 'once its cause is gone',
};

/** `footbridge explain CODE`: what a code means and what to do. Needs no service. */
export function explainCommand(program: Command): void {
  program
    .command('explain [code]')
    .description('what a code means, whether to retry, what to do')
    .addHelpText('after', EXAMPLES)
    .action((code: string | undefined, _options: object, command: Command) => {
      const { output } = toolsOf(command);
      if (code === undefined)
        return output.rows(
          CODES.map((entry) => ({ ...entry })),
          [
            { title: 'CODE', value: (row) => String(row['code']) },
            { title: 'MET IN', value: (row) => String(row['channel']) },
            { title: 'HTTP', value: ({ http }) => (typeof http === 'number' ? String(http) : '') },
            { title: 'MEANING', value: (row) => String(row['meaning']) },
          ],
          '',
        );
      for (const entry of known(code)) output.result(`${describe(entry)}\n`, { ...entry });
    });
}

function known(code: string): readonly CodeEntry[] {
  const wanted = code.toUpperCase();
  const entries = codeEntries(wanted);
  if (entries.length > 0) return entries;
  const close = CODES.find((entry) => entry.code.includes(wanted) || wanted.includes(entry.code));
  throw new Failure(`${wanted} is not a code of ours`, {
    exitCode: EXIT.notFound,
    next: close === undefined ? 'footbridge explain   lists all codes' : `footbridge explain ${close.code}`,
  });
}

/** The lines under a code, also shown by `footbridge show`. */
export function describe(entry: CodeEntry): string {
  const http = entry.http === undefined ? '' : ` (HTTP ${entry.http})`;
  return [
    `${entry.code}   ${WHERE[entry.channel]}${http}`,
    `Meaning   ${entry.meaning}`,
    `Retry     ${RETRY[entry.retry]}`,
    `Do        ${entry.advice}`,
  ].join('\n');
}
