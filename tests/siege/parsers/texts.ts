import { FRAME_SHAPES } from '@footbridge/protocol/frames';

import type { Make } from './make.ts';

const utf8 = (content: string) => Buffer.from(content, 'utf8');

/** Characters that a text in any language has, and those that disguise, join or order others. */
const CHARACTERS = [
  'a',
  'A',
  ' ',
  '.',
  '-',
  '0',
  '\n',
  '\r\n',
  '\t',
  '"',
  "'",
  '\\',
  '/',
  '<',
  '>',
  '&',
  '%',
  'é',
  'e\u0301',
  '\u0301',
  'ß',
  'İ',
  '\u0307',
  '你',
  '한',
  'ﬃ',
  '\ufdfa',
  '😀',
  '👩‍👩‍👧‍👦',
  '\u200d',
  '\u202e',
  '\u200b',
  '\ufeff',
  '\ufffc',
  '\ufffd',
  '\0',
  '\x1b',
  '\u2028',
  '٣',
  '🇩🇪',
];

const someText = (make: Make, size: number) =>
  make.fillText(() => make.pick(CHARACTERS), make.number(size + 1));

const LINES = [
  'BEGIN:VCARD',
  'END:VCARD',
  'VERSION:3.0',
  'FN:a',
  'N:a;b;;;',
  'TEL;TYPE=CELL:+1',
  'PHOTO;ENCODING=b:',
  'BEGIN:VCALENDAR',
  ' folded',
  'item1.X-ABLabel:',
];

export function card(make: Make): Buffer {
  const line = () =>
    utf8(
      `${make.pick(LINES)}${make.chance(0.3) ? 'A'.repeat(make.number(80)) : ''}${make.pick(['\r\n', '\n', '\r\n '])}`,
    );
  return Buffer.concat([
    utf8(make.pick(['BEGIN:VCARD\r\n', 'begin:vcard\n', 'BEGIN:VCALENDAR\r\n', '\ufeffBEGIN:VCARD\n'])),
    make.fill(line),
  ]);
}

const TAGS = [
  '<',
  '<a',
  '<svg',
  '<svg:',
  '<x:svg ',
  '<html>',
  '<!doctype',
  '<?xml',
  '<script',
  '<sv',
  '</',
  '>',
  ' ',
  '\n',
  'a',
  ':',
  '%PDF-',
  '\n%PDF-',
  '{\\rtf',
  '€',
  '\xe2',
];

export function markup(make: Make): Buffer {
  return make.fill(() => utf8(make.pick(TAGS)));
}

const FOOTERS = [
  '-- svc-metadata:v1 --',
  '-- svc-metadata:v2 --',
  '-- svc-metadata:v',
  '-- end svc-metadata --',
  '-- end svc',
  '[[SVMD:v1:',
  '[[SVMD:',
  ']]',
  '— svc-metadata',
  'svc-metadata',
  '-- svc-metadata:v1 -- {',
  '{"chat_id":42}',
  '{',
  '}',
  'e30=',
  ' ',
  '\n',
  '\r\n',
  '\n\n',
  'a',
  '--',
  '-',
];

/** A text with footers, nested, adjacent and incomplete. */
export function footers(make: Make): string {
  const block = () =>
    `${make.pick(['\n', ' ', ''])}-- svc-metadata:v1 --\n${json(make, 200)}\n-- end svc-metadata --${make.pick(['\n', ''])}`;
  const piece = () => (make.chance(0.2) ? block() : make.pick(FOOTERS));
  return make.fillText(piece, Math.min(make.size, 100_000));
}

const FIELD_NAMES = [
  'locationId',
  'contactId',
  'phone',
  'message',
  'messageId',
  'attachments',
  'type',
  'userId',
  'replyToAltId',
  'timestamp',
  'dateAdded',
  '__proto__',
  'constructor',
  'toString',
  'chat_id',
  'reaction',
  'sticker',
  'error',
  'a',
];
const NUMBERS = [
  '0',
  '-1',
  '1.5',
  '1e999',
  '9007199254740993',
  '-0',
  '1E400',
  '00',
  '0.'.concat('1'.repeat(400)),
];

/** JSON of any shape: deep, wide, with repeated names, or broken. */
export function json(make: Make, size = make.size): string {
  if (make.chance(0.2)) return brackets(make, size);
  if (make.chance(0.1)) return differentNames(make, size);
  const value = (depth: number): string => {
    const kind = make.number(depth > 5 ? 5 : 8);
    if (kind === 0) return make.pick(NUMBERS);
    if (kind === 1) return make.pick(['null', 'true', 'false', 'NaN', '', '"\\ud800"', '"\\u0000"']);
    if (kind < 5) return JSON.stringify(text(make));
    if (kind === 5) return `[${make.fillText(() => `${value(depth + 1)},`, make.number(80))}1]`;
    return object(depth);
  };
  const object = (depth: number): string =>
    `{${make.fillText(() => `${JSON.stringify(make.pick(FIELD_NAMES))}:${value(depth + 1)},`, depth === 0 ? size : make.number(120))}"z":0}`;
  return make.damaged(utf8(object(0)), 0.2).toString('utf8');
}

function text(make: Make): string {
  const kind = make.number(12);
  if (kind === 0) return someText(make, 300);
  if (kind === 1) return make.fillText(() => make.pick(FOOTERS), make.number(500));
  if (kind === 2)
    return make.pick(['+14155550100', '0171 1234567', '(415) 555-0100', '+'.repeat(60), '1'.repeat(64)]);
  if (kind === 3)
    return `https://files.example/${make.fillText(() => make.pick(['a', '/', '..', '%2e', '?', '\u0301']), make.number(300))}`;
  return make.pick(['', ' ', 'a', 'SMS', '2026-01-01T00:00:00Z', 'locFuzz']);
}

/** What a parser of JSON spends most time on for a byte of input. */
function brackets(make: Make, size: number): string {
  const unit = make.pick([
    '[',
    '{',
    '{"a":',
    '[[],',
    '"a":0,',
    ',',
    '""',
    '"\\u0061',
    '[{}],',
    '{"":',
    '0,',
    '"\\\\"',
    '[0,',
    '{"a":0,"b":',
  ]);
  const start = make.pick(['', '{"a":', '[', ' {"a":', '{"type":"state","a":[', '{']);
  return `${start}${unit.repeat(Math.ceil(size / unit.length))}${make.pick(['', ']', '}', '"'])}`;
}

/** Each object has a shape of its own. */
function differentNames(make: Make, size: number): string {
  let count = 0;
  const object = make.chance(0.5) ? () => `{"k${count++}":0},` : () => `"${count++}":0,`;
  let content = '';
  while (content.length < size) content += object();
  return content.startsWith('{') ? ` {"type":"x","a":[${content}0]}` : ` {${content}"type":"x"}`;
}

interface Shape {
  readonly type: string | readonly string[];
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly enum?: readonly string[];
  readonly maxLength?: number;
  readonly maxItems?: number;
}

/** A frame of the link as its schema says, with some values that are wrong, missing, too long or repeated. */
export function frame(make: Make, sender: keyof typeof FRAME_SHAPES): string {
  if (make.chance(0.2)) return json(make);
  const shapes: Readonly<Record<string, Shape>> = FRAME_SHAPES[sender];
  const type = make.pick(Object.keys(shapes));
  const shape = shapes[type];
  return shape === undefined
    ? '{}'
    : make.damaged(utf8(frameValue(make, shape, type === 'state' ? 0 : make.size)), 0.15).toString('utf8');
}

function frameValue(make: Make, shape: Shape, size: number): string {
  if (make.chance(0.01)) return json(make, Math.min(size, 2000));
  if (shape.properties !== undefined) {
    const fields = Object.entries(shape.properties).flatMap(([name, field]) =>
      make.chance(0.93) ? [`${JSON.stringify(name)}:${frameValue(make, field, size)}`] : [],
    );
    return `{${fields.join(',')}}`;
  }
  if (shape.items !== undefined) {
    const items = shape.items;
    return `[${Array.from({ length: make.length(make.number(4), 120) }, () => frameValue(make, items, size)).join(',')}]`;
  }
  const [first] = typeof shape.type === 'string' ? [shape.type] : shape.type;
  if (first === 'integer') return String(make.length(make.number(1000)));
  if (first === 'boolean') return String(make.chance(0.5));
  if (shape.enum !== undefined) return JSON.stringify(make.pick(shape.enum));
  if (shape.maxLength !== undefined && shape.maxLength > 10_000) return JSON.stringify(messageText(make));
  return JSON.stringify(make.chance(0.8) ? text(make).slice(0, shape.maxLength) : someText(make, 400));
}

/** The text of a message. */
export function messageText(make: Make): string {
  return make.chance(0.5)
    ? footers(make)
    : make.fillText(
        () => make.pick([...CHARACTERS, 'STOP', 'http://', 'www.', '//', '+1 415 555 0100', 'a@b.c']),
        make.size,
      );
}

const PARTS = [
  'a',
  '.',
  ' ',
  '..',
  '/',
  '\\',
  '%',
  '%2e',
  '%00',
  '%F0%9F',
  ':',
  '"',
  ';',
  '=',
  "filename*=utf-8''",
  'filename="',
  'filename=',
  'con',
  'aux.',
  'png',
  '.png',
  '.tar.gz',
  'é',
  '\u0301',
  '\u202e',
  '😀',
  '\u200d',
  '\0',
  '\ufffd',
  '\u3000',
  '\u2028',
  '-',
  '_',
  '\t',
];

/** A file name, or a header that holds one. */
export function fileName(make: Make): string {
  return make.fillText(() => make.pick(PARTS), make.number(Math.min(make.size, 16_000)));
}

const HEADER_PARTS = [
  '00-',
  '0af7651916cd43dd8448eb211c80319c',
  '-b7ad6b7169203331-',
  '01',
  'ff',
  '-',
  'Mon, 01 Jan 2026 00:00:00 GMT',
  '120',
  '1.5',
  '1'.repeat(30),
  '::ffff:10.0.0.1',
  ',',
  ' ',
  '2001:db8::1',
  '::',
  ':',
  '%eth0',
  '10.0.0.1',
  'Bearer ',
  'A',
  'A'.repeat(64),
  '=',
  '==',
  '+',
  '/',
  'application/json',
  '; charset=',
  '"utf-8"',
  ';',
  '\t',
];

/** The value of a header, as long as Node accepts it. */
export function header(make: Make): string {
  return make.fillText(() => make.pick(HEADER_PARTS), make.number(Math.min(make.size, 16_000)));
}
