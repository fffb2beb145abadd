import { describe, expect, it } from 'vitest';

import { clausesNotBuilt, rulesOf, unknownNumbers } from './numbered-rules.ts';

const PAGE = `# Page

## W: the webhook

### W1 Three paths

Text, see W2.

### W2 The body

*Not built yet:* a part of it.

### T29 Unauthenticated upgrades

*Not built yet.*
`;
const KNOWN = new Set(['W1', 'W2', 'T29']);

describe('numbered rules', () => {
  it('rules are the headings that start with a number', () => {
    expect([...rulesOf(PAGE)]).toEqual([
      ['W1', 'Three paths'],
      ['W2', 'The body'],
      ['T29', 'Unauthenticated upgrades'],
    ]);
  });

  it('a number with two headings is an error', () => {
    expect(() => rulesOf(`${PAGE}\n### W1 Again\n`)).toThrow('W1 has two headings');
  });

  it('only a clause that is marked as a whole counts as not built', () => {
    expect(clausesNotBuilt(PAGE)).toEqual(['T29']);
  });

  it.each([
    ['a line comment', 'a.ts', '// See W99.\n', 1],
    ['a doc comment', 'a.ts', 'const a = 1;\n/** Holds\n * (T98).\n */\nconst b = 2;\n', 3],
    ['a test title', 'a.test.ts', "\nit('W97 rejects it', () => {});\n", 2],
    ['the title of a table of tests', 'a.test.ts', 'it.each([1])(`W96 ${1} passes`, () => {});\n', 1],
    ['the title of a group', 'a.test.ts', "describe.skipIf(true)('T95 attacks', () => {});\n", 1],
    [
      'a test title that starts with the name of the JavaScript engine',
      'a.test.ts',
      "it('V8 is', () => {});\n",
      1,
    ],
    ['a JSX comment', 'a.tsx', 'const a = <p>{/* W94 */}</p>;\n', 1],
    ['a Lua comment', 'a.lua', 'local a = 1\n-- W93\n', 2],
    ['prose', 'a.md', '# A\n\nSee W92 for more.\n', 3],
    ['prose after code', 'a.md', '```\nW1\n```\n`W1` and W91\n', 4],
  ])('an unknown number in %s is found with its line', (_name, path, source, line) => {
    expect(unknownNumbers(path, source, new Set([...KNOWN, 'V1']))).toEqual([
      expect.stringMatching(new RegExp(`^${path}:${line}: there is no ([TW]9\\d|V8)$`)),
    ]);
  });

  it.each([
    ['known numbers', 'a.test.ts', "// W1, W2 and T29\nit('W2 holds', () => {});\n"],
    ['strings that are not test titles', 'a.ts', "const path = 'W12 3a3 3 0 0 1 3 3';\n"],
    ['identifiers', 'a.ts', 'const W50 = 1;\nexport { W50 };\n'],
    ['code in Markdown', 'a.md', '`W50` and\n\n```\nW51\n```\n'],
    ['longer words', 'a.ts', '// W123 and XW50 and W50x\n'],
    ['the JavaScript engine', 'a.test.ts', "// V8 compiles it.\nit('runs in V8', () => {});\n"],
  ])('%s contain no unknown numbers', (_name, path, source) => {
    expect(unknownNumbers(path, source, new Set([...KNOWN, 'V1']))).toEqual([]);
  });
});
