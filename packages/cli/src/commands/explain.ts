import { CLOSE_CODES, closeCodeEntry } from '@footbridge/protocol/close-codes';
import type { CloseCodeEntry } from '@footbridge/protocol/close-codes';
import { CODES, codeEntries } from '@footbridge/protocol/codes';
import type { Channel, CodeEntry, Retry } from '@footbridge/protocol/codes';
import { closestName } from '@footbridge/runtime/closest-name';
import type { Command } from 'commander';

import { EXIT, CliError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import { HTTP_STATUSES } from '../http-statuses.ts';
import type { Output } from '../output.ts';

const EXAMPLES = `
Examples:
  footbridge explain EMOJI_NOT_IN_RECENTS
  footbridge explain 404
  footbridge explain 4501
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

/** The only webhook rejection that has no code: its response is the same for every fault (S1). */
const INVALID_SIGNATURE = {
  channel: 'webhook',
  http: 401,
  error: 'Invalid signature',
  meaning: 'The webhook is not signed, or no trusted key verifies its signature. The response has no code.',
  advice:
    'Run footbridge keys rejections to see which step failed, and footbridge keys test to check a request.',
} as const;

/** `footbridge explain CODE`: what a code, an HTTP status or a close code means and what to do. Works offline. */
export function explainCommand(program: Command): void {
  program
    .command('explain [code]')
    .addHelpText('after', EXAMPLES)
    .action((code: string | undefined, _options: object, command: Command) => {
      const { output } = contextOf(command);
      if (code === undefined) listAll(output);
      else if (/^\d+$/.test(code)) explainNumber(output, Number(code));
      else if (code.toLowerCase() === INVALID_SIGNATURE.error.toLowerCase()) explainSignature(output);
      else for (const entry of findEntries(code)) output.result(`${describeCode(entry)}\n`, { ...entry });
    });
}

function listAll(output: Output): void {
  const closeCodes = CLOSE_CODES.map(({ code, meaning }) => ({
    code: String(code),
    channel: 'close',
    meaning,
  }));
  output.rows(
    [...CODES, ...closeCodes],
    [
      { title: 'CODE', value: ({ code }) => code },
      { title: 'CHANNEL', value: ({ channel }) => channel },
      { title: 'HTTP', value: (row) => ('http' in row && row.http !== undefined ? String(row.http) : '') },
      { title: 'MEANING', value: ({ meaning }) => meaning },
    ],
    '',
  );
}

/** HTTP statuses have three digits, WebSocket close codes four. */
function explainNumber(output: Output, number: number): void {
  const closeCode = closeCodeEntry(number);
  if (closeCode !== undefined)
    return output.result(describeCloseCode(closeCode), { channel: 'close', ...closeCode });
  const entries = CODES.filter(({ http }) => http === number);
  const name = HTTP_STATUSES[number];
  if (name === undefined)
    throw new CliError(`${number} is neither an HTTP status nor a close code`, {
      exitCode: EXIT.notFound,
      next: 'run footbridge explain to list all codes',
    });
  if (entries.length === 0) {
    const meaning = otherStatus(number);
    return output.result(`${number} ${name}\nMeaning   ${meaning}`, {
      channel: 'http',
      http: number,
      name,
      meaning,
    });
  }
  output.hint(`${number} ${name}. The service responds with it in these cases:\n`);
  if (number === INVALID_SIGNATURE.http) explainSignature(output);
  for (const entry of entries) output.result(`${describeCode(entry)}\n`, { ...entry });
}

function explainSignature(output: Output): void {
  const { error, http, meaning, advice } = INVALID_SIGNATURE;
  const lines = [
    `${error}   ${CHANNELS.webhook} (HTTP ${http})`,
    `Meaning   ${meaning}`,
    `Advice    ${advice}`,
  ];
  output.result(`${lines.join('\n')}\n`, INVALID_SIGNATURE);
}

function otherStatus(status: number): string {
  if (status < 200) return 'an interim response; a Mac gets 101 when its connection is accepted';
  if (status < 300) return 'the request was accepted';
  if (status < 400) return 'a redirect; the service sends none, so a proxy or another program responded';
  return 'the service does not respond with this status, so a proxy, the CRM or another program did';
}

const describeCloseCode = ({ code, name, meaning, advice }: CloseCodeEntry): string =>
  [`${code}   close code of a Mac's connection: ${name}`, `Meaning   ${meaning}`, `Advice    ${advice}`].join(
    '\n',
  );

function findEntries(code: string): readonly CodeEntry[] {
  const wanted = code.toUpperCase();
  const entries = codeEntries(wanted);
  if (entries.length > 0) return entries;
  const names = CODES.map((entry) => entry.code);
  const similar =
    names.find((name) => name.includes(wanted) || wanted.includes(name)) ?? closestName(wanted, names);
  throw new CliError(`unknown code ${wanted}`, {
    exitCode: EXIT.notFound,
    next:
      similar === undefined ? 'run footbridge explain to list all codes' : `footbridge explain ${similar}`,
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
