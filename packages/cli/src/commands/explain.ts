import { CODES, codeEntries } from '@footbridge/protocol/codes';
import type { Channel, CodeEntry, Retry } from '@footbridge/protocol/codes';
import type { Command } from 'commander';

import { EXIT, CliError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';

const EXAMPLES = `
Examples:
  footbridge explain EMOJI_NOT_IN_RECENTS
  footbridge explain`;

const CHANNELS: Readonly<Record<Channel, string>> = {
  webhook: 'webhook response',
  status: 'error.code of a status callback',
  inbound: 'undelivered inbound message',
  oauth: 'OAuth callback response',
  enrolment: 'response to a Mac',
  operator: 'operator API response',
};

const RETRY: Readonly<Record<Retry, string>> = {
  yes: 'yes, with backoff',
  no: 'no, the same request will fail again',
  sometimes: 'depends on the error message',
  later: 'once the cause is resolved',
};

/** `footbridge explain CODE`: what a code means and what to do. Works offline. */
export function explainCommand(program: Command): void {
  program
    .command('explain [code]')
    .addHelpText('after', EXAMPLES)
    .action((code: string | undefined, _options: object, command: Command) => {
      const { output } = contextOf(command);
      if (code === undefined)
        return output.rows(
          CODES.map((entry) => ({ ...entry })),
          [
            { title: 'CODE', value: (row) => String(row['code']) },
            { title: 'CHANNEL', value: (row) => String(row['channel']) },
            { title: 'HTTP', value: ({ http }) => (typeof http === 'number' ? String(http) : '') },
            { title: 'MEANING', value: (row) => String(row['meaning']) },
          ],
          '',
        );
      for (const entry of findEntries(code)) output.result(`${describeCode(entry)}\n`, { ...entry });
    });
}

function findEntries(code: string): readonly CodeEntry[] {
  const wanted = code.toUpperCase();
  const entries = codeEntries(wanted);
  if (entries.length > 0) return entries;
  const similar = CODES.find((entry) => entry.code.includes(wanted) || wanted.includes(entry.code));
  throw new CliError(`unknown code ${wanted}`, {
    exitCode: EXIT.notFound,
    next:
      similar === undefined
        ? 'run footbridge explain to list all codes'
        : `footbridge explain ${similar.code}`,
  });
}

/** Also used by `footbridge show`. */
export function describeCode(entry: CodeEntry): string {
  const http = entry.http === undefined ? '' : ` (HTTP ${entry.http})`;
  return [
    `${entry.code}   ${CHANNELS[entry.channel]}${http}`,
    `Meaning   ${entry.meaning}`,
    `Retry     ${RETRY[entry.retry]}`,
    `Advice    ${entry.advice}`,
  ].join('\n');
}
