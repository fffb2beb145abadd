import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

import { EXIT, CliError } from '../cli-error.ts';

/** One line of a list: a phone number, or an entry that `footbridge opt-out export` wrote. */
export type ListLine =
  | { readonly line: number; readonly number: string }
  | { readonly line: number; readonly entry: ExportedEntry };

export interface ExportedEntry {
  readonly locationId: string;
  readonly key: string;
  readonly hash: string;
  readonly source: string;
  readonly since: string;
}

const FIELD = /\s*("(?:[^"]|"")*"|[^,;\t]*)\s*(?:[,;\t]|$)/gy;
const NAME_OF_COLUMN = /phone|mobile|cell|number|tel|handy/i;
const LOOKS_LIKE_HANDLE = /\d.*\d.*\d|@/;

/**
 * Reads a list line by line: one number per line, CSV with a column of numbers, or an export. The column is the one that the header names,
 * else the first one that has a number in the first line. Empty lines are skipped. `onRead` receives the number of bytes read so far.
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
        const named = fields.findIndex((field) => NAME_OF_COLUMN.test(field));
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
  let entry: Partial<Record<keyof ExportedEntry, unknown>> = {};
  try {
    entry = Object(JSON.parse(text));
  } catch {
    // Reported below, like an object that lacks the fields.
  }
  const { locationId, key, hash, source, since } = entry;
  if ([locationId, key, hash, source, since].some((field) => typeof field !== 'string'))
    throw new CliError(`line ${line} is not an entry of an export`, {
      exitCode: EXIT.usage,
      next: 'import a file that `footbridge opt-out export` wrote, or one phone number per line',
    });
  return {
    locationId: String(locationId),
    key: String(key),
    hash: String(hash),
    source: String(source),
    since: String(since),
  };
}
