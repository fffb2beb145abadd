import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

import { optOut } from '@footbridge/protocol/operator/parts';
import { readJson } from '@footbridge/protocol/read-json';
import { checkAgainst, object } from '@footbridge/protocol/schema';
import type { FromSchema } from '@footbridge/protocol/schema';

import { EXIT, CliError } from '../cli-error.ts';

/** One line of a list: a phone number, or an entry that `footbridge opt-out export` wrote. */
export type ListLine =
  | { readonly line: number; readonly number: string }
  | { readonly line: number; readonly entry: ExportedEntry };

const ENTRY = object({ ...optOut.properties, key: { type: 'string' } });
export type ExportedEntry = FromSchema<typeof ENTRY>;

const FIELD = /\s*("(?:[^"]|"")*"|[^,;\t]*)\s*(?:[,;\t]|$)/gy;
/** Best first: a column named “number” may have other numbers, such as order numbers. */
const NAMES_OF_COLUMN = [
  /phone|(?<!(?<!\p{L})(?:auto|im))mobil|handy|telef|(?<!\p{L})(?:cell|tel)/iu,
  /\p{Ll}(?:Cell|Tel)(?!\p{Ll})/u,
  /number/i,
];
/** Five digits without a letter between them: “Phone (E.164)” is the name of a column. */
const LOOKS_LIKE_HANDLE = /\d(?:[^\p{L}\d]*\d){4}|@/u;

/**
 * Reads a list line by line: one number per line, CSV with a column of numbers, or an export. The header names the column; without a
 * header, it is the first column with a number in the first line. Skips empty lines. `onRead` receives the number of bytes read so far.
 */
export async function* readOptOutFile(
  file: string,
  onRead: (bytes: number) => void = () => {},
): AsyncGenerator<ListLine> {
  const stream = file === '-' ? undefined : createReadStream(file);
  const input = stream ?? process.stdin;
  let line = 0;
  let column: number | undefined;
  try {
    for await (const raw of createInterface({ input, crlfDelay: Infinity })) {
      line++;
      onRead(stream?.bytesRead ?? 0);
      const text = raw.replace(/^\uFEFF/, '').trim();
      if (text === '') continue;
      if (text.startsWith('{')) {
        yield { line, entry: parseEntry(text, line) };
        continue;
      }
      const fields = fieldsOf(text);
      if (column === undefined) {
        const first = fields.findIndex((field) => LOOKS_LIKE_HANDLE.test(field));
        const named = namedColumn(fields);
        column = Math.max(0, first === -1 ? named : first);
        if (first === -1 && named !== -1) continue;
      }
      yield { line, number: fields[column] ?? '' };
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`cannot read ${file}`, { exitCode: EXIT.usage, cause: error });
  }
}

/** Returns the column that has numbers according to its name, or -1. */
const namedColumn = (header: readonly string[]): number =>
  NAMES_OF_COLUMN.map((name) => header.findIndex((field) => name.test(field))).find((at) => at !== -1) ?? -1;

/** A spreadsheet may write an apostrophe before a number, to keep it as text. */
const fieldsOf = (text: string): string[] =>
  [...text.matchAll(FIELD)].map(([, field = '']) =>
    field
      .replace(/^"(.*)"$/s, '$1')
      .replaceAll('""', '"')
      .trim()
      .replace(/^'/, ''),
  );

function parseEntry(text: string, line: number): ExportedEntry {
  const checked = checkAgainst(ENTRY, readJson(text));
  if (checked.ok) return checked.value;
  throw new CliError(`line ${line} is not an entry of an export: ${checked.reason}`, {
    exitCode: EXIT.usage,
    next: 'import a file that `footbridge opt-out export` wrote, or one phone number per line',
  });
}
