import { describe, expect, it } from 'vitest';

import * as bundled from '../bundled-programs.ts';
import { freeNames, laterSyntax } from './free-names.fixture.ts';

/** Of JavaScript for Automation, and of ES2021. */
const KNOWN: ReadonlySet<string> = new Set([
  '$',
  'Application',
  'ObjC',
  'Path',
  'Ref',
  'delay',
  'Array',
  'Boolean',
  'Date',
  'Error',
  'JSON',
  'Object',
  'Set',
  'String',
  'encodeURIComponent',
  'undefined',
]);

describe('the programs for osascript', () => {
  it.each(Object.entries(bundled))('%s uses only what osascript has', (_name, source) => {
    expect(freeNames(source).filter((name) => !KNOWN.has(name))).toEqual([]);
    expect(laterSyntax(source)).toEqual([]);
  });
});

describe('the free names of a script', () => {
  it.each([
    ['process.exit()', ['process']],
    ['const a = 1; a + b', ['b']],
    ['function f() { const inner = 1; return inner; } inner', ['inner']],
    ['{ let a = 1; a; } a', ['a']],
    ['const f = ({ a, b: [c, ...d], e = g }) => a + c + d + e + b', ['b', 'g']],
    ['for (const x of list) x; x', ['list', 'x']],
    ['try {} catch ({ reason }) { reason } reason', ['reason']],
    [
      'const o = { key: value, [computed]: 1, short }; o.key; o[index]',
      ['computed', 'index', 'short', 'value'],
    ],
    ['a: for (;;) { break a; }', []],
    ['f(); function f() { return g; }', ['g']],
    ['(function self() { return self(arguments); })()', []],
    ['class A { m(x) { return x + A.y + z; } } new A()', ['z']],
  ])('are found in %s', (source, names) => {
    expect(freeNames(source)).toEqual(names);
  });

  it('are not looked for in a script that uses var or is not JavaScript', () => {
    expect(() => freeNames('var a')).toThrow('var');
    expect(() => freeNames('const = 1')).toThrow();
  });
});

it.each(['class A { field = 1; }', 'class A { #m() {} }', 'class A { static {} }', '/a/d', '/[a--b]/v'])(
  'ES2021 does not have %s',
  (source) => {
    expect(laterSyntax(source)).not.toEqual([]);
  },
);

it('ES2021 has assignments with ??=, optional chaining and named groups', () => {
  expect(laterSyntax('a ??= b?.c; /(?<n>x)/su; 1_000; async () => { for await (const x of y) x; }')).toEqual(
    [],
  );
});
