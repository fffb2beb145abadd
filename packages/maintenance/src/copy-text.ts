/**
 * Rows in the text format of PostgreSQL's COPY: a line per row, values separated by tabs, `\N` for null. PostgreSQL reads and writes
 * it itself; these functions do the same for SQLite.
 */
type Value = string | number | bigint | null;

export const LINE_FEED = 10;

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };
/** PostgreSQL also escapes `\b`, `\f` and `\v`, although it does not require that. */
const ESCAPED: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};
const SPECIAL = /[\\\n\r\t]/g;

export function encodeRow(values: readonly Value[]): string {
  return `${values.map(encode).join('\t')}\n`;
}

function encode(value: Value): string {
  if (value === null) return '\\N';
  if (typeof value !== 'string') return String(value);
  return value.replace(SPECIAL, (character) => ESCAPES[character] ?? character);
}

export function decodeRow(line: string): (string | null)[] {
  return line.split('\t').map((value) => {
    if (value === '\\N') return null;
    return value.includes('\\')
      ? value.replace(/\\(.)/g, (_all, character: string) => ESCAPED[character] ?? character)
      : value;
  });
}

/** Returns the number of rows. */
export function linesIn(text: Buffer): number {
  let lines = 0;
  for (let at = text.indexOf(LINE_FEED); at !== -1; at = text.indexOf(LINE_FEED, at + 1)) lines++;
  return lines;
}
