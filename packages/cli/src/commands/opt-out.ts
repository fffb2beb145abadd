import { once } from 'node:events';
import { statSync } from 'node:fs';

import type { InputOf, ResponseOf } from '@footbridge/protocol/operator/call';
import { decideOptOut, importOptOuts, listOptOuts } from '@footbridge/protocol/operator/people';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { EXIT, CliError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import { localTime } from '../format-time.ts';
import { withCleanup } from '../io.ts';
import type { OperatorClient } from '../operator-client.ts';
import { wholeNumber } from '../option-values.ts';
import { PHONE_HELP, phoneOf } from '../phone-option.ts';
import { createProgressBar } from '../progress.ts';
import type { ProgressBar } from '../progress.ts';
import { readOptOutFile } from './opt-out-file.ts';
import type { ExportedEntry, ListLine } from './opt-out-file.ts';

type Page = ResponseOf<typeof listOptOuts>;

const EXAMPLES = `
Examples:
  footbridge opt-out list --phone +15555550100
  footbridge opt-out add ve9EPM428h8vShlRW1KT --phone +15555550100
  footbridge opt-out import former-provider.csv --location ve9EPM428h8vShlRW1KT
  footbridge opt-out export > opt-outs.jsonl

Numbers are stored as hashes: lists and exports contain no number.`;

const SOURCES = {
  crm: 'do not disturb in the CRM',
  word: 'STOP or a similar word',
  operator: 'operator',
} as const;
const ROWS_PER_CALL = 2000;
const MAX_SHOWN_LINES = 20;

/** `footbridge opt-out`: the people who opted out of texts. */
export function optOutCommand(program: Command): void {
  const optOut = program.command('opt-out').addHelpText('after', EXAMPLES);

  optOut
    .command('list')
    .description('list opt-outs by location; with --phone, whether this person opted out')
    .option('--location <id>', 'only this location')
    .option('--phone <number>', PHONE_HELP)
    .option('--limit <count>', 'number of entries, at most 2000', wholeNumber(1, 2000), 200)
    .action(async (options: ListOptions, command: Command) => {
      const { output, operator } = contextOf(command);
      const { optOuts, cursor } = await operator().ask(listOptOuts, {
        limit: options.limit,
        ...(options.location !== undefined && { locationId: options.location }),
        ...(options.phone !== undefined && { phone: phoneOf(options.phone) }),
      });
      output.rows(
        optOuts,
        [
          { title: 'LOCATION', value: ({ locationId }) => locationId },
          { title: 'SINCE', value: ({ since }) => localTime(since) },
          { title: 'SOURCE', value: ({ source }) => SOURCES[source] },
          { title: 'NUMBER HASH', value: ({ hash }) => hash.slice(0, 12) },
        ],
        options.phone === undefined ? 'No one has opted out.' : 'This person has not opted out.',
      );
      if (cursor !== null) output.hint('There are more. `footbridge opt-out export` prints all of them.');
    });

  for (const [name, optedOut, description] of [
    ['add', true, 'opt a person out'],
    ['remove', false, 'let a person receive texts again'],
  ] as const)
    optOut
      .command(`${name} <location>`)
      .description(description)
      .requiredOption('--phone <number>', PHONE_HELP)
      .action(async (locationId: string, options: { phone: string }, command: Command) => {
        const { output, operator } = contextOf(command);
        const phone = phoneOf(options.phone);
        await operator().ask(decideOptOut, { locationId, phone, optedOut });
        output.result(
          `${printable(locationId)}: this person ${optedOut ? 'is now opted out' : 'can receive texts again'}.`,
          { locationId, optedOut },
        );
      });

  optOut
    .command('export')
    .description('write all opt-outs to standard output, one JSON object per line')
    .option('--location <id>', 'only this location')
    .action(async ({ location }: { location?: string }, command: Command) => {
      const client = contextOf(command).operator();
      let cursor: string | null = '';
      while (cursor !== null) {
        const page: Page = await client.ask(listOptOuts, {
          limit: ROWS_PER_CALL,
          ...(location !== undefined && { locationId: location }),
          ...(cursor !== '' && { cursor }),
        });
        const lines = page.optOuts.map((entry) => `${JSON.stringify({ ...entry, key: page.key })}\n`);
        if (!process.stdout.write(lines.join(''))) await once(process.stdout, 'drain');
        ({ cursor } = page);
      }
    });

  optOut
    .command('import <file>')
    .description('import phone numbers (one per line, or CSV) or an export; - reads from standard input')
    .option(
      '--location <id>',
      'the location that the numbers opted out of; with an export, import only the entries of this location',
    )
    .option(
      '--decided <date>',
      'when the numbers opted out, such as 2026-01-31; a later START overrides it (default: now)',
    )
    .action(async (file: string, options: ImportOptions, command: Command) => {
      const { io, output, operator, dryRun, beforeChange } = contextOf(command);
      const client = operator();
      const run: ImportRun = {
        imported: 0,
        invalidLines: [],
        pending: Promise.resolve(),
        isOver: false,
        isStopped: false,
      };
      const bar = createProgressBar(io.stderr, 'importing');
      const stop = async () => {
        run.isStopped = true;
        bar.clear();
        if (run.isOver) return;
        // The service completes a request that it has received, so wait for its result.
        io.stderr.write('Interrupted, waiting for the last request to finish …\n');
        await Promise.allSettled([run.pending]);
        io.stderr.write(`${run.imported} opt-outs were imported. Import the file again to continue.\n`);
      };
      await withCleanup(io, stop, () => importFile(client, file, { ...options, dryRun }, run, bar));
      const { imported, invalidLines } = run;
      beforeChange(`import ${imported} lines`, { lines: imported });
      const lines = `${invalidLines.slice(0, MAX_SHOWN_LINES).join(', ')}${invalidLines.length > MAX_SHOWN_LINES ? ' …' : ''}`;
      output.result(`Imported ${imported} opt-outs.`, { imported, invalid: invalidLines.length, lines });
      if (invalidLines.length > 0)
        throw new CliError(`${invalidLines.length} lines without a valid phone number: ${lines}`, {
          next: 'correct them, then import the file again; repeated numbers change nothing',
        });
    });
}

interface ListOptions {
  readonly location?: string;
  readonly phone?: string;
  readonly limit: number;
}

interface ImportOptions {
  readonly location?: string;
  readonly decided?: string;
}

/** The progress of an import. */
interface ImportRun {
  imported: number;
  readonly invalidLines: number[];
  /** The request in flight. */
  pending: Promise<void>;
  /** The import has finished or failed. */
  isOver: boolean;
  /** Interrupted: no further request may be sent. */
  isStopped: boolean;
}

/** Sends the lines in batches, so that a file of any size can be imported. */
async function importFile(
  client: OperatorClient,
  file: string,
  { location, decided, dryRun }: ImportOptions & { readonly dryRun: boolean },
  run: ImportRun,
  bar: ProgressBar,
): Promise<void> {
  const decidedAt = decided === undefined ? undefined : isoTime(decided);
  const size = file === '-' ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  let bytes = 0;

  async function post(lines: readonly ListLine[], first: ListLine): Promise<void> {
    const request = requestOf(lines, first, location, decidedAt);
    if (dryRun) {
      run.imported += lines.length;
      return;
    }
    const result = await client.ask(importOptOuts, request).catch((error: unknown) => {
      throw notFinished(error, run.imported);
    });
    run.imported += result.imported;
    for (const index of result.invalid) run.invalidLines.push(lines[index]?.line ?? 0);
  }

  async function send(lines: readonly ListLine[]): Promise<void> {
    const [first] = lines;
    if (first === undefined) return;
    // After Ctrl-C the process exits once the pending request has finished, so this never resolves.
    if (run.isStopped) await new Promise<never>(() => {});
    run.pending = post(lines, first);
    await run.pending;
    if (size > 0) bar.update(bytes / size, `${run.imported} opt-outs`);
  }

  try {
    let batch: ListLine[] = [];
    for await (const line of readOptOutFile(file, (read) => (bytes = read))) {
      if ('entry' in line && location !== undefined && line.entry.locationId !== location) continue;
      if (batch.length === ROWS_PER_CALL || (batch[0] !== undefined && groupOf(batch[0]) !== groupOf(line))) {
        await send(batch);
        batch = [];
      }
      batch.push(line);
    }
    await send(batch);
  } finally {
    run.isOver = true;
  }
}

/** Lines of one group can be sent in one call. */
const groupOf = (line: ListLine): string =>
  'entry' in line ? JSON.stringify([line.entry.locationId, line.entry.key]) : '';

function requestOf(
  lines: readonly ListLine[],
  first: ListLine,
  location: string | undefined,
  decidedAt: string | undefined,
): InputOf<typeof importOptOuts> {
  if ('entry' in first) {
    const { locationId, key } = first.entry;
    const entries = lines.flatMap((line): ExportedEntry[] => ('entry' in line ? [line.entry] : []));
    return { locationId, key, hashes: entries.map(({ hash, source, since }) => ({ hash, source, since })) };
  }
  if (location === undefined)
    throw new CliError('a list of numbers needs --location', {
      exitCode: EXIT.usage,
      next: 'run footbridge location list to see the locations',
    });
  const numbers = lines.map((line) => ('number' in line ? line.number : ''));
  return { locationId: location, numbers, ...(decidedAt !== undefined && { decidedAt }) };
}

function isoTime(text: string): string {
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms))
    throw new CliError('--decided must be a date such as 2026-01-31', { exitCode: EXIT.usage });
  return new Date(ms).toISOString();
}

function notFinished(error: unknown, imported: number): unknown {
  if (!(error instanceof CliError) || imported === 0) return error;
  const { exitCode, code } = error;
  return new CliError(`${error.message} (${imported} opt-outs were imported before the error)`, {
    exitCode,
    code,
    next: 'import the file again; repeated numbers change nothing',
    cause: error,
  });
}
