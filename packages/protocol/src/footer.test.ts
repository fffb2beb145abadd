import { ANY_CHARACTER } from '@footbridge/testkit/any-character';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeBase64 } from './base64.ts';
import { carriesFooter, parseFooter, stripFooter, writeFooter } from './footer.ts';

const block = (json: string, version = '1') =>
  `-- svc-metadata:v${version} --\n${json}\n-- end svc-metadata --`;
const sentinel = (json: string, version = '1') =>
  `[[SVMD:v${version}:${encodeBase64(new TextEncoder().encode(json))}]]`;

const LOVE =
  '{"chat_id":42,"reaction":{"kind":"classic","action":"add","target_message_guid":"g","type":"love"}}';
const CHAT = '{"chat_id":7}';

describe('reading a footer', () => {
  it('F1 the block form yields the text before it and the object in it', () => {
    expect(parseFooter(`Loved “hi”\n${block(LOVE)}`)).toEqual({
      text: 'Loved “hi”',
      metadata: JSON.parse(LOVE) as unknown,
      version: 1,
      form: 'block',
    });
  });

  it('F1 the sentinel form yields the same', () => {
    const read = { metadata: JSON.parse(LOVE) as unknown, version: 1, form: 'sentinel' };
    expect(parseFooter(`Loved “hi”\n${sentinel(LOVE)}`)).toEqual({ text: 'Loved “hi”', ...read });
    expect(parseFooter(`Loved “hi” ${sentinel(LOVE)}`)).toEqual({ text: 'Loved “hi” ', ...read });
    expect(parseFooter(sentinel(LOVE))).toEqual({ text: '', ...read });
  });

  it('F1 reads a sentinel written by another implementation', () => {
    const message =
      '[[SVMD:v1:eyJjaGF0X2lkIjo0MiwicmVhY3Rpb24iOnsia2luZCI6ImNsYXNzaWMiLCJhY3Rpb24iOiJhZGQiLCJ0YXJnZXRfbWVzc2FnZV9ndWlkIjoiMTExMTExMTEtMjIyMi0zMzMzLTQ0NDQtNTU1NTU1NTU1NTU1IiwidHlwZSI6ImxvdmUifX0=]]';
    expect(parseFooter(message).metadata).toMatchObject({ chat_id: 42, reaction: { type: 'love' } });
  });

  it('F1 writeFooter writes the block form', () => {
    expect(writeFooter('Hi', { chat_id: 7 })).toBe(`Hi\n${block(CHAT)}`);
    expect(writeFooter('', { chat_id: 7 })).toBe(block(CHAT));
  });

  it.each([
    ['only the block', block(CHAT), ''],
    ['a line break after the closing line', `Hi\n${block(CHAT)}\n`, 'Hi'],
    ['blank lines after the closing line', `Hi\n${block(CHAT)}\n \r\n\n`, 'Hi'],
    ['CRLF throughout', `Hi\n${block(CHAT)}\n`.replaceAll('\n', '\r\n'), 'Hi'],
    [
      'white space around the delimiter lines',
      'Hi\n -- svc-metadata:v1 -- \t\n{"chat_id":7}\n  -- end svc-metadata --',
      'Hi',
    ],
    ['multi-line JSON', `Hi\n${block(JSON.stringify({ chat_id: 7 }, null, 2))}`, 'Hi'],
    ['white space around the JSON', `Hi\n${block('\n  {"chat_id":7}  \n')}`, 'Hi'],
    ['JSON that quotes a sentinel', `Hi\n${block('{"chat_id":7,"note":"[[SVMD:v1:e30=]]"}')}`, 'Hi'],
    ['multi-line text', `One\n\nTwo\n${block(CHAT)}`, 'One\n\nTwo'],
    [
      'a blank line before the footer, of which only one line break is removed',
      `Hi\n\n${block(CHAT)}`,
      'Hi\n',
    ],
    [
      'text after the footer, which is kept',
      `Hi\n${block(CHAT)}\nReply STOP to opt out`,
      'Hi\nReply STOP to opt out',
    ],
    ['only text after the footer', `${block(CHAT)}\nHi`, 'Hi'],
    ['a sentinel on a separate line', `Hi\n${sentinel(CHAT)}\nthere`, 'Hi\nthere'],
    ['a sentinel on an indented line', `Hi\n  ${sentinel(CHAT)} \nthere`, 'Hi\nthere'],
    [
      'a sentinel after text that looks like a block without line breaks',
      `Hi -- svc-metadata:v1 -- { ${sentinel(CHAT)}`,
      'Hi -- svc-metadata:v1 -- { ',
    ],
    ['a sentinel within a line', `Hi ${sentinel(CHAT)}there`, 'Hi there'],
  ])('F2 removes the footer from the text: %s', (_, message, text) => {
    expect(parseFooter(message)).toMatchObject({ text, metadata: { chat_id: 7 } });
    expect(stripFooter(message)).toBe(text);
  });

  it.each([
    '',
    'Hi',
    'Hi\n',
    '--',
    '-- \nAnna',
    '[[',
    ']]',
    'svc-metadata',
    'about svc-metadata:v1',
    '{"chat_id":7}',
  ])('F2 a text without a footer is unchanged: %j', (message) => {
    expect(parseFooter(message)).toEqual({ text: message, metadata: null });
    expect(carriesFooter(message)).toBe(false);
  });

  it('F2 a sentence that mentions the opening line is not a footer', () => {
    const message = 'A footer opens with -- svc-metadata:v1 -- and is closed with -- end svc-metadata --';
    expect(parseFooter(message)).toEqual({ text: message, metadata: null });
  });

  it('F3 every known field survives a round trip', () => {
    const metadata = {
      chat_id: 42,
      is_group: true,
      recipients: ['+14155550100', 'anna@example.com'],
      sender: '+14155550100',
      message_guid: 'A1B2',
      service_name: 'iMessage',
      voice: { duration_ms: 1200, mime_type: 'audio/mp4' },
      animation: { effect: 'slam', kind: 'bubble' as const },
      reply_to: { message_guid: 'C3' },
      sticker: { guid: 'S1', mime_type: 'image/png', name: 's.png', short_description: 'a cat' },
    };
    expect(parseFooter(writeFooter('', metadata)).metadata).toEqual(metadata);
  });

  it('F4 unknown fields are kept, and names such as __proto__ have no effect', () => {
    const json = '{"chat_id":7,"later":{"x":[1,2]},"__proto__":{"polluted":true},"constructor":null}';
    const { metadata, problem } = parseFooter(block(json));
    expect(problem).toBeUndefined();
    expect(JSON.stringify(metadata)).toBe(json);
    expect('polluted' in {}).toBe(false);
    expect(Object.getPrototypeOf(metadata)).toBe(Object.prototype);
  });
});

describe('an unreadable footer', () => {
  it.each([
    ['broken JSON', `Hi\n${block('{"chat_id":')}`],
    ['an empty payload', `Hi\n${block('')}`],
    ['JSON that is an array', `Hi\n${block('[1]')}`],
    ['JSON that is a string', `Hi\n${block('"x"')}`],
    ['JSON that is null', `Hi\n${block('null')}`],
    ['two objects', `Hi\n${block('{}\n{}')}`],
    ['no closing line', 'Hi\n-- svc-metadata:v1 --\n{"chat_id":7}'],
    ['only an opening line', 'Hi\n-- svc-metadata:v1 --'],
    ['an unclosed opening line of a later version', 'Hi\n-- svc-metadata:v9 --\n{"chat_id":7}'],
    ['a truncated closing line', 'Hi\n-- svc-metadata:v1 --\n{"chat_id":7}\n-- end svc-metad'],
    ['a truncated opening line', 'Hi\n-- svc-metadata:v1'],
    ['an opening line truncated early', 'Hi\n-- svc-meta'],
    [
      'an opening line with extra words',
      'Hi\n-- svc-metadata:v1 draft --\n{"chat_id":7}\n-- end svc-metadata --',
    ],
    ['only a closing line', 'Hi\n-- end svc-metadata --'],
    ['em dashes inserted by an editor', 'Hi\n— svc-metadata:v1 —\n{"chat_id":7}\n— end svc-metadata —'],
    ['base64 with an invalid character', 'Hi\n[[SVMD:v1:e30*]]'],
    ['base64 without padding', 'Hi\n[[SVMD:v1:e30]]'],
    ['base64 of invalid UTF-8', 'Hi\n[[SVMD:v1:eyJhIjoi/yJ9]]'],
    ['base64 of broken JSON', `Hi\n${sentinel('{')}`],
    ['base64 of an array', `Hi\n${sentinel('[]')}`],
    ['an empty sentinel', 'Hi\n[[SVMD:v1:]]'],
    ['a sentinel without a version', 'Hi\n[[SVMD:e30=]]'],
    ['an unterminated sentinel', 'Hi\n[[SVMD:v1:e30='],
    ['a sentinel that ends on another line', 'Hi\n[[SVMD:v1:e3\n0=]]'],
    ['a sentinel truncated early', 'Hi\n[[SVM'],
    ['a valid footer followed by a broken one', `Hi\n${block(CHAT)}\n${block('{')}`],
    ['a valid footer closed twice', `Hi\n${block(CHAT)}\n-- end svc-metadata --`],
    ['a valid footer followed by an unclosed one', `Hi\n${block(CHAT)}\n-- svc-metadata:v1 --\n{`],
  ])('F4 %s: the result has a problem, no metadata, and no footer in the text', (_, message) => {
    const { text, metadata, problem, ...rest } = parseFooter(message);
    expect(text).toBe('Hi');
    expect(metadata).toBeNull();
    expect(problem).toMatch(/^the [a-z ]+/);
    expect(rest).toEqual({});
  });

  it.each([
    ['Hi -- svc-metadata:v1 -- {"chat_id":7} -- end svc-metadata --', 'Hi '],
    ['Hi -- svc-metadata:v1 --\n{"chat_id":7}\n-- end svc-metadata --', 'Hi '],
    ['Hi\r-- svc-metadata:v1 --\r{"chat_id":7}\r-- end svc-metadata --', 'Hi\r'],
    ['-- svc-metadata:v1 -- {"chat_id":7} -- end svc-metadata --', ''],
  ])('F4 a block without its line breaks is not treated as text: %j', (message, text) => {
    expect(parseFooter(message)).toMatchObject({
      text,
      metadata: null,
      problem: expect.any(String) as string,
    });
  });

  it('F4 the second half of a split message is not treated as text', () => {
    expect(parseFooter('_guid":"secret"}}\n-- end svc-metadata --')).toMatchObject({
      text: '',
      metadata: null,
    });
  });

  it('F4 a footer formed by removing another one is not treated as text', () => {
    expect(parseFooter('Hi\n[[SVMD:v2:e30=]]-- svc-metadata:v1 --')).toMatchObject({
      text: 'Hi\n',
      metadata: null,
      problem: expect.any(String) as string,
    });
  });

  it('F4 the problem does not repeat the content of the message', () => {
    const { problem } = parseFooter(`Hi\n${block('{"secret":SECRET}')}`);
    expect(problem).not.toContain('SECRET');
  });
});

describe('adjacent footers of several versions', () => {
  const v2 = block('{"chat":{"id":7}}', '2');

  it.each([
    ['v1 before v2', `Hi\n${block(CHAT)}\n${v2}`],
    ['v2 before v1', `Hi\n${v2}\n${block(CHAT)}`],
    ['with a blank line between them', `Hi\n${v2}\n\n${block(CHAT)}`],
    ['v99', `Hi\n${block(CHAT)}\n${block('any\nthing', '99')}`],
    ['a version that is not a number', `Hi\n${block('{}', '1.5-beta')}\n${block(CHAT)}`],
    ['both forms', `Hi\n${block(CHAT)}\n${sentinel('{}', '2')}`],
    ['two v1 footers, of which the last is read', `Hi\n${block('{"chat_id":1}')}\n${block(CHAT)}`],
    ['v1 in both forms, of which the last is read', `Hi\n${sentinel('{"chat_id":1}')}\n${block(CHAT)}`],
    ['a broken footer followed by a valid one', `Hi\n${block('{')}\n${block(CHAT)}`],
  ])('F11 %s: v1 is read and all footers are removed', (_, message) => {
    expect(parseFooter(message)).toMatchObject({ text: 'Hi', metadata: { chat_id: 7 }, version: 1 });
  });

  it('F11 a later version alone is removed without being read', () => {
    expect(parseFooter(`Hi\n${v2}`)).toEqual({ text: 'Hi', metadata: null });
    expect(parseFooter(`Hi ${sentinel('{}', '2')}`)).toEqual({ text: 'Hi ', metadata: null });
    expect(parseFooter(`Hi\n${v2}\nBye`)).toEqual({ text: 'Hi\nBye', metadata: null });
  });

  it('F11 a later version after other text does not hide the v1 before it', () => {
    expect(parseFooter(`Hi\n${block(CHAT)}\nthere\n${v2}`)).toMatchObject({
      text: 'Hi\nthere',
      metadata: { chat_id: 7 },
    });
  });
});

const delimiters = [
  '-- svc-metadata:v1 --',
  '-- svc-metadata:v2 --',
  '-- end svc-metadata --',
  '[[SVMD:v1:e30=]]',
  '[[SVMD:v2:e30=]]',
  '[[SVMD:v1:',
  '[[SV',
  '-- svc-meta',
  ']]',
  '{"a":1}',
  ' {}',
  '\n',
  '\r\n',
  '\r',
  ' ',
  'text',
  block('{}'),
  block(' {}'),
  block('{}', '2'),
  block('{'),
];
const hostileText = fc
  .array(fc.oneof(fc.constantFrom(...delimiters), fc.string({ unit: ANY_CHARACTER, maxLength: 5 })), {
    maxLength: 12,
  })
  .map((pieces) => pieces.join(''));
const jsonObject = fc.dictionary(
  fc.string({ unit: ANY_CHARACTER }),
  fc.jsonValue({ stringUnit: ANY_CHARACTER }),
);
const asRead = (object: unknown) => JSON.parse(JSON.stringify(object)) as unknown;

describe('round trip', () => {
  it('F10 any text and any object survive a round trip', () => {
    fc.assert(
      fc.property(hostileText, jsonObject, (text, object) => {
        const read = parseFooter(writeFooter(text, object));
        expect(read).toEqual({ text, metadata: asRead(object), version: 1, form: 'block' });
      }),
      { numRuns: 600 },
    );
  });

  it('F10 any text and any object survive a round trip in the sentinel form', () => {
    fc.assert(
      fc.property(hostileText, jsonObject, (text, object) => {
        const read = parseFooter(writeFooter(text, object, 'sentinel'));
        expect(read).toEqual({ text, metadata: asRead(object), version: 1, form: 'sentinel' });
      }),
      { numRuns: 300 },
    );
  });

  it.each(delimiters)('F10 text that ends with %j survives a round trip', (end) => {
    for (const text of [end, `Hi\n${end}`, `Hi ${end}\n`, `${end}\n${end}`]) {
      expect(parseFooter(writeFooter(text, { chat_id: 7 }))).toMatchObject({
        text,
        metadata: { chat_id: 7 },
      });
    }
  });

  it('F10 delimiter lines earlier in the text are text, even before a footer that writeFooter did not write', () => {
    for (const text of [
      '-- svc-metadata:v1 --',
      '-- end svc-metadata --',
      `${block('{"chat_id":1}')}\nHi`,
      '[[SVMD:v1:',
    ]) {
      expect(parseFooter(`${text}\n${block(CHAT)}`)).toMatchObject({ text, metadata: { chat_id: 7 } });
    }
  });

  it('F10 of two nested footers, the outer one is read and the inner one is text', () => {
    const inner = writeFooter('Hi', { chat_id: 1 });
    const outer = parseFooter(writeFooter(inner, { chat_id: 2 }));
    expect(outer).toMatchObject({ text: inner, metadata: { chat_id: 2 } });
    expect(parseFooter(outer.text)).toMatchObject({ text: 'Hi', metadata: { chat_id: 1 } });
  });
});

describe('arbitrary strings', () => {
  it('F4 parsing never throws, never lengthens the text, and keeps any text without a delimiter', () => {
    fc.assert(
      fc.property(hostileText, (message) => {
        const { text, metadata, problem } = parseFooter(message);
        expect(text.length).toBeLessThanOrEqual(message.length);
        if (problem !== undefined) expect(metadata).toBeNull();
        if (!carriesFooter(message)) expect(text).toBe(message);
      }),
      { numRuns: 600 },
    );
  });

  it('F4 without metadata, the text contains no part of a footer', () => {
    fc.assert(
      fc.property(hostileText, (message) => {
        const { text, metadata, problem } = parseFooter(message);
        if (metadata === null && problem === undefined) expect(carriesFooter(text)).toBe(false);
        if (problem !== undefined) expect(carriesFooter(`${text}.`)).toBe(false);
      }),
      { numRuns: 600 },
    );
  });
});
