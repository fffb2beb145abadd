import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

const FOLDER = new URL('./', import.meta.url);
const HAS_CODE = /^export (?:const|function) /m;

/** The hash of the code of a file: comments, indentation and empty lines do not count. */
function hashOf(source: string): string {
  const code = source
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(?:\/\/|\/\*|\*)/.test(line));
  return createHash('sha256').update(code.join('\n')).digest('hex');
}

const programs = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => ({ name, source: readFileSync(new URL(name, FOLDER), 'utf8') }))
  .filter(({ source }) => HAS_CODE.test(source));

describe('the programs for JavaScript for Automation', () => {
  const recorded = JSON.parse(readFileSync(new URL('hashes.json', FOLDER), 'utf8')) as Record<string, string>;

  it.each(programs)('$name has the recorded hash', ({ name, source }) => {
    const hash = hashOf(source);
    const advice = `${name} has changed. No test on Linux shows that macOS still runs it: run the selftest on a Mac (footbridge-agent doctor --selftest), then record "${name}": "${hash}" in hashes.json`;
    expect(recorded[name], advice).toBe(hash);
  });

  it('are the only ones with a hash', () => {
    expect(Object.keys(recorded).sort()).toEqual(programs.map(({ name }) => name).sort());
  });

  it('keep their hash when only comments and indentation change, and lose it with the code', () => {
    const source = 'export function a() {\n  // why\n  return 1;\n}\n';
    expect(hashOf('/** A. */\nexport function a() {\n\n    return 1;\n}\n')).toBe(hashOf(source));
    expect(hashOf(source.replace('1', '2'))).not.toBe(hashOf(source));
  });
});
