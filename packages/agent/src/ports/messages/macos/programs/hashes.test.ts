import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import * as bundled from '../bundled-programs.ts';

/** The hash of the code of a program: comments, indentation and empty lines do not count. */
function hashOf(source: string): string {
  const code = source
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(?:\/\/|\/\*|\*)/.test(line));
  return createHash('sha256').update(code.join('\n')).digest('hex');
}

const programs = Object.entries(bundled).map(([name, source]) => ({ name, source }));

describe('the programs for JavaScript for Automation', () => {
  const recorded = JSON.parse(readFileSync(new URL('hashes.json', import.meta.url), 'utf8')) as Record<
    string,
    string
  >;

  it.each(programs)('$name has the recorded hash', ({ name, source }) => {
    const hash = hashOf(source);
    const advice = `${name} has changed. No test on Linux shows that macOS still runs it: run the selftest on a Mac (footbridge-agent doctor --selftest), then record "${name}": "${hash}" in hashes.json`;
    expect(recorded[name], advice).toBe(hash);
  });

  it('are the only ones with a hash', () => {
    expect(Object.keys(recorded).sort()).toEqual(programs.map(({ name }) => name).sort());
  });

  it('keep their hash when only comments and indentation change, and lose it with the code', () => {
    const source = 'function a() {\n  // why\n  return 1;\n}\n';
    expect(hashOf('/** A. */\nfunction a() {\n\n    return 1;\n}\n')).toBe(hashOf(source));
    expect(hashOf(source.replace('1', '2'))).not.toBe(hashOf(source));
  });
});
