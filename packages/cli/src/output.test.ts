import { describe, expect, it } from 'vitest';

import { CliError } from './cli-error.ts';
import { createOutput } from './output.ts';

function streams(isTTY: boolean) {
  const out: string[] = [];
  const err: string[] = [];
  return {
    out,
    err,
    stdout: { isTTY, write: (text: string) => out.push(text) },
    stderr: { write: (text: string) => err.push(text) },
  };
}

const COLUMNS = [
  { title: 'ID', value: (row: Readonly<Record<string, unknown>>) => String(row['id']) },
  { title: 'LABEL', value: (row: Readonly<Record<string, unknown>>) => String(row['label']) },
];
const plain = (text: string) => text.replace(new RegExp(String.raw`\u001b\[\d+m`, 'g'), '');

describe('output', () => {
  it('prints a table to a terminal', () => {
    const { stdout, stderr, out } = streams(true);
    createOutput({ json: false, quiet: false }, stdout, stderr).rows(
      [
        { id: 'a', label: 'one' },
        { id: 'longer', label: 'two' },
      ],
      COLUMNS,
      'none',
    );
    expect(plain(out.join(''))).toBe('ID      LABEL\na       one\nlonger  two\n');
  });

  it.each([
    ['when stdout is piped', false, false],
    ['with --json', true, true],
  ])('prints one JSON object per line %s', (_name, json, isTTY) => {
    const { stdout, stderr, out } = streams(isTTY);
    const output = createOutput({ json, quiet: false }, stdout, stderr);
    output.rows([{ id: 'a' }, { id: 'b' }], COLUMNS, 'none');
    output.result('a sentence', { done: true });
    expect(out.join('')).toBe('{"id":"a"}\n{"id":"b"}\n{"done":true}\n');
  });

  it('prints the message for an empty table to stderr', () => {
    const { stdout, stderr, out, err } = streams(true);
    createOutput({ json: false, quiet: false }, stdout, stderr).rows([], COLUMNS, 'Nothing yet.');
    expect([out, err]).toEqual([[], ['Nothing yet.\n']]);
  });

  it('prints an error with the next step', () => {
    const { stdout, stderr, err } = streams(true);
    createOutput({ json: false, quiet: false }, stdout, stderr).error(
      new CliError('no such key', { next: 'footbridge keys list' }),
    );
    expect(plain(err.join(''))).toBe('✖ no such key\n  Next: footbridge keys list\n');
  });
});
