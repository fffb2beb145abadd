import { describe, expect, it } from 'vitest';
import { parseFooter, stripFooter, writeFooter } from './footer.ts';

const LENGTH = 20_000;
const LIMIT_MS = 5;
const OPENING = '-- svc-metadata:v1 --';
const CLOSING = '-- end svc-metadata --';
const BLOCK = `${OPENING}\n{}\n${CLOSING}`;

const fill = (unit: string, length = LENGTH) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length);

const ATTACKS: Record<string, string> = {
  'openings on lines': fill(`${OPENING}\n`),
  'openings on one line': fill(OPENING),
  'openings with a space': fill(`${OPENING} `),
  'openings of many versions': fill('-- svc-metadata:v2 --\n-- svc-metadata:v3 --\n'),
  'one opening, then spaces': OPENING + fill(' '),
  'one opening, then newlines': OPENING + fill('\n'),
  'one opening, then CRLF': OPENING + fill('\r\n'),
  'one opening, then spaces and newlines': `${OPENING}${fill(' \n')}${CLOSING}`,
  'closings on lines': fill(`${CLOSING}\n`),
  'closings on one line': fill(CLOSING),
  'openings, then closings': fill(`${OPENING}\n`, LENGTH / 2) + fill(`${CLOSING}\n`, LENGTH / 2),
  'small blocks': fill(`${BLOCK}\n`),
  'small blocks with text between them': fill(`${BLOCK}\nx\n`),
  'broken blocks': fill(`${OPENING}\n{\n${CLOSING}\n`),
  'half an opening': fill('-- svc-metadata:v'),
  'half openings before objects': fill('-- svc-metadata:v1 -- {'),
  dashes: fill('-- '),
  'dashes before the name': `${fill('-')} svc-metadata:v1`,
  'the name alone': fill('svc-metadata'),
  'an endless version': `-- svc-metadata:v${fill('9')} --`,
  'sentinel openings': fill('[[SVMD:v1:'),
  'sentinel openings with one end': `${fill('[[SVMD:v1:')}]]`,
  'sentinel openings on lines': fill('[[SVMD:v1:\n'),
  'sentinel ends': fill(']]'),
  'small sentinels': fill('[[SVMD:v1:e30=]]'),
  'broken sentinels': fill('[[SVMD:v1:*]]'),
  'a sentinel of one letter': `[[SVMD:v1:${fill('A')}]]`,
  'brackets and a sentinel': `${fill('[')}[SVMD:v1:${fill(']')}`,
  'colons in a sentinel': `[[SVMD:v1${fill(':')}]]`,
  'deep JSON': `${OPENING}\n${fill('[')}\n${CLOSING}`,
  'deep objects': `${OPENING}\n${fill('{"a":')}\n${CLOSING}`,
  'deep objects, closed': `${OPENING}\n${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}\n${CLOSING}`,
  'spaces in the JSON': `${OPENING}\n{${fill(' ')}}\n${CLOSING}`,
  'backslashes in the JSON': `${OPENING}\n{"a":"${fill('\\')}"}\n${CLOSING}`,
  'lone surrogates': fill('\ud800\udc00\udfff\ud800'),
  'lone surrogates around a block': `\udfff\n${BLOCK}\n\ud800`,
  NUL: fill('\0'),
  'NUL between delimiters': fill(`${OPENING}\0\n${CLOSING}\0\n`),
  'carriage returns': `${OPENING}${fill('\r')}${CLOSING}`,
  'separators of lines': fill(`\u2028${OPENING}\u2029`),
  'newlines before a block': fill('\n') + BLOCK,
  'newlines after a block': BLOCK + fill('\n'),
  'spaces before and after a block': `${fill(' ')}\n${BLOCK}\n${fill(' ')}`,
};

/** The best of several runs: a busy machine makes a run slow, never fast. */
function fastest(limit: number, work: () => void): number {
  let best = Infinity;
  for (let run = 0; run < 20 && best >= limit; run += 1) {
    const start = performance.now();
    work();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

describe('attacks of 20,000 characters', () => {
  it.each(Object.entries(ATTACKS))('F10 %s: no throw, under 5 ms', (_, message) => {
    expect(fastest(LIMIT_MS, () => parseFooter(message))).toBeLessThan(LIMIT_MS);
    expect(fastest(LIMIT_MS, () => stripFooter(`Hi\n${message}`))).toBeLessThan(LIMIT_MS);
  });

  it.each(Object.entries(ATTACKS))('F10 %s: survives as the text before a footer', (_, text) => {
    const read = parseFooter(writeFooter(text, { chat_id: 7 }));
    expect(read.text === text).toBe(true);
    expect(read.metadata).toEqual({ chat_id: 7 });
  });

  it('F10 the time grows with the length, not with its square', () => {
    for (const unit of [`${OPENING}\n`, `${BLOCK}\n`, '[[SVMD:v1:', '[[SVMD:v1:e30=]]', CLOSING, ' \n']) {
      const message = `${OPENING}\n${fill(unit, 1_000_000)}`;
      expect(fastest(500, () => parseFooter(message))).toBeLessThan(500);
    }
  }, 60_000);
});
