import { describe, expect, it } from 'vitest';

import { wordsToAvoid } from './plain-english.ts';

describe('plain English', () => {
  it.each([
    ['a line comment', 'a.ts', 'const a = 1; // Nobody waits.\n', 1],
    ['a block comment', 'a.ts', '\n/*\n * Somebody else does it.\n */\n', 3],
    ['a string', 'a.ts', "\n\nconst text = 'ask whoever is there';\n", 3],
    ['a template', 'a.ts', 'const text = `${1}\nstarts anew`;\n', 2],
    ['a test title', 'a.test.ts', "it('tells everybody', () => {});\n", 1],
    ['JSX text', 'a.tsx', 'const a = (\n  <p>\n    nobody’s here\n  </p>\n);\n', 3],
    ['a JSX attribute', 'a.tsx', 'const a = <p title="nobody" />;\n', 1],
    ['plain JavaScript', 'a.mjs', '// Everybody runs it.\n', 1],
    ['a Lua comment', 'a.lua', 'return 1 -- for whoever asks\n', 1],
    ['Markdown', 'a.md', '# A\n\nNobody is told.\n', 3],
    ['a doc comment that begins with Answers', 'a.ts', '\n/** Answers true when it is there. */\n', 2],
    ['a comment with "is no"', 'a.ts', '// A string that is no number.\n', 1],
    ['a comment with "dearer"', 'a.ts', '// TLS is dearer.\n', 1],
    ['a long doc comment that begins with Answers', 'a.ts', '/**\n * Answers a list.\n */\n', 2],
  ])('finds a word to avoid in %s once, with its line', (_name, path, source, line) => {
    expect(wordsToAvoid(path, source)).toEqual([
      expect.stringMatching(new RegExp(`^${path}:${line}: .*(?:avoid "|not "Answers")`)),
    ]);
  });

  it.each([
    [
      'identifiers and property names',
      'a.ts',
      'const nobody = { whoever: 1 }.whoever;\nexport { nobody };\n',
    ],
    ['regular expressions', 'a.ts', 'const vague = /nobody|anew/;\n'],
    ['longer words', 'a.ts', '// A renewal and a nobodyness.\n'],
    [
      'there is no, is no longer and is no more than',
      'a.ts',
      '// There is no key. It is no longer used. It is no more than one.\n',
    ],
    ['there is no, across lines of a comment,', 'a.ts', '/**\n * Null when there\n * is no key.\n */\n'],
    ['Answers later in a doc comment', 'a.ts', '/** Counts. Answers come later. */\n'],
    ['Answers at the start of another comment', 'a.ts', '// Answers are read here.\n'],
    ['code in Markdown', 'a.md', 'Not `nobody`, nor\n\n```ts\n// nobody\n```\n'],
    ['text after an apostrophe', 'a.ts', "const a = 'it\\'s'; const nobody = \"don't\";\n"],
  ])('%s are left alone', (_name, path, source) => {
    expect(wordsToAvoid(path, source)).toEqual([]);
  });

  it('finds every word in a file', () => {
    const source = "// Nobody and somebody.\nconst a = 'everybody';\n/** Answers whoever asks anew. */\n";
    expect(wordsToAvoid('a.ts', source)).toHaveLength(6);
  });
});
