import { describe, expect, it } from 'vitest';
import { parseFooter, stripFooter, writeFooter } from './footer.ts';

const LENGTH = 20_000;
const LONGER = 32;
const OPENING = '-- svc-metadata:v1 --';
const CLOSING = '-- end svc-metadata --';
const BLOCK = `${OPENING}\n{}\n${CLOSING}`;

const filled = (unit: string, length: number) =>
  unit.repeat(Math.ceil(length / unit.length)).slice(0, length);

const ATTACKS = attacks(LENGTH);
const LONG_ATTACKS = attacks(LENGTH * LONGER);

function attacks(length: number): Record<string, string> {
  const fill = (unit: string, part = 1) => filled(unit, length * part);
  return {
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
    'openings, then closings': fill(`${OPENING}\n`, 0.5) + fill(`${CLOSING}\n`, 0.5),
    'small blocks': fill(`${BLOCK}\n`),
    'small blocks with text between them': fill(`${BLOCK}\nx\n`),
    'broken blocks': fill(`${OPENING}\n{\n${CLOSING}\n`),
    'incomplete openings': fill('-- svc-metadata:v'),
    'openings before objects': fill('-- svc-metadata:v1 -- {'),
    dashes: fill('-- '),
    'dashes before the name': `${fill('-')} svc-metadata:v1`,
    'the name alone': fill('svc-metadata'),
    'a long version': `-- svc-metadata:v${fill('9')} --`,
    'sentinel openings': fill('[[SVMD:v1:'),
    'sentinel openings with one terminator': `${fill('[[SVMD:v1:')}]]`,
    'sentinel openings on lines': fill('[[SVMD:v1:\n'),
    'sentinel terminators': fill(']]'),
    'small sentinels': fill('[[SVMD:v1:e30=]]'),
    'broken sentinels': fill('[[SVMD:v1:*]]'),
    'a sentinel of one repeated character': `[[SVMD:v1:${fill('A')}]]`,
    'brackets and a sentinel': `${fill('[')}[SVMD:v1:${fill(']')}`,
    'colons in a sentinel': `[[SVMD:v1${fill(':')}]]`,
    'deep JSON': `${OPENING}\n${fill('[')}\n${CLOSING}`,
    'deep objects': `${OPENING}\n${fill('{"a":')}\n${CLOSING}`,
    'deep objects, closed': `${OPENING}\n${'{"a":'.repeat(0.15 * length)}1${'}'.repeat(0.15 * length)}\n${CLOSING}`,
    'spaces in the JSON': `${OPENING}\n{${fill(' ')}}\n${CLOSING}`,
    'backslashes in the JSON': `${OPENING}\n{"a":"${fill('\\')}"}\n${CLOSING}`,
    'lone surrogates': fill('\ud800\udc00\udfff\ud800'),
    'lone surrogates around a block': `\udfff\n${BLOCK}\n\ud800`,
    NUL: fill('\0'),
    'NUL between delimiters': fill(`${OPENING}\0\n${CLOSING}\0\n`),
    'carriage returns': `${OPENING}${fill('\r')}${CLOSING}`,
    'Unicode line separators': fill(`\u2028${OPENING}\u2029`),
    'newlines before a block': fill('\n') + BLOCK,
    'newlines after a block': BLOCK + fill('\n'),
    'spaces before and after a block': `${fill(' ')}\n${BLOCK}\n${fill(' ')}`,
  };
}

/**
 * Returns how much longer the work takes for an input that is `LONGER` times as long. Load on the machine only ever makes a
 * run slower, so the fastest of several alternating runs counts.
 */
function growth(work: (message: string) => void, short: string, long: string): number {
  let [shortest, longest] = [Infinity, Infinity];
  for (let run = 0; run < 30 && !(run > 2 && longest < LINEAR * shortest); run += 1) {
    shortest = Math.min(
      shortest,
      timeOf(() => work(short)),
    );
    longest = Math.min(
      longest,
      timeOf(() => work(long)),
    );
  }
  return longest / shortest;
}

function timeOf(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/** Quadratic time would be `LONGER` squared. */
const LINEAR = LONGER * 8;

describe('hostile messages of 20,000 and of 640,000 characters', () => {
  it.each(Object.entries(ATTACKS))(
    'F10 %s: parsing does not throw and takes linear time',
    (name, message) => {
      const long = LONG_ATTACKS[name] ?? '';
      expect(growth(parseFooter, message, long)).toBeLessThan(LINEAR);
      expect(growth(stripFooter, `Hi\n${message}`, `Hi\n${long}`)).toBeLessThan(LINEAR);
    },
  );

  it.each(Object.entries(ATTACKS))('F10 %s: the text before a footer survives a round trip', (_, text) => {
    const read = parseFooter(writeFooter(text, { chat_id: 7 }));
    expect(read.text === text).toBe(true);
    expect(read.metadata).toEqual({ chat_id: 7 });
  });

  it('F10 parsing takes linear time up to a million characters', () => {
    for (const unit of [`${OPENING}\n`, `${BLOCK}\n`, '[[SVMD:v1:', '[[SVMD:v1:e30=]]', CLOSING, ' \n']) {
      const message = (length: number) => `${OPENING}\n${filled(unit, length)}`;
      expect(growth(parseFooter, message(1_000_000 / LONGER), message(1_000_000))).toBeLessThan(LINEAR);
    }
  });
});
