import { decodeBase64 } from './base64.ts';
import { CLOSING, findParts, openingLine, type Footer, type Part, type Trace } from './footer-parts.ts';
import type { Metadata } from './metadata.ts';
import { isObject } from './schema.ts';

/**
 * The metadata footer of a message (F1–F4, F10, F11).
 *
 *     Loved “See you at nine”
 *     -- svc-metadata:v1 --
 *     {"chat_id":42,"reaction":{…}}
 *     -- end svc-metadata --
 *
 * or, in place of the three lines, the sentinel `[[SVMD:v1:<base64 of the JSON>]]`.
 *
 * How a message is read:
 * - A *footer* is a closing line with the nearest opening line above it, or a sentinel within one line. Spaces around
 *   the lines, CRLF and JSON over several lines are fine. A raw newline cannot stand inside a JSON string, so a
 *   delimiter line is never part of the JSON.
 * - The last footer of the version we know is the one that counts. Footers that touch it (white space between them) are
 *   the same thing said side by side or said twice: all are cut. What stands earlier is text, whatever it looks like.
 * - Footers of other versions are cut and not read. Text after a footer is kept: CRMs append opt-out lines.
 * - A *trace* is a piece of a footer that is not whole: an opening line that is never closed, a closing line that was
 *   never opened (the second half of a message cut in two), a sentinel that never ends, a block whose lines were joined. With a trace
 *   behind the last good footer, or with none that is good, there is a footer which we cannot read: `problem` says
 *   why, `metadata` is null, and the text stops where the trace begins. Whoever sends must not send it (F4).
 *
 * One ambiguity is left: text that itself ends with a footer, followed by the real one, looks like two footers side by
 * side. The writer marks its block in that case by one space before the JSON, and a marked block stands alone (F10).
 */
export interface ReadFooter {
  /** The message without its footer. */
  readonly text: string;
  readonly metadata: Metadata | null;
  /** Of the footer that was read. */
  readonly version?: number;
  readonly form?: 'block' | 'sentinel';
  /** A footer is there, but unreadable. */
  readonly problem?: string;
}

/** The only version there is. A later one is added here and in `readPayload`; the highest of a run counts (F11). */
const VERSION = 1;
const STANDS_ALONE = ' {';

export function parseFooter(message: string): ReadFooter {
  const parts = findParts(message);
  const last = parts.findLastIndex(isOurs);
  const footer = parts[last];
  if (parts.slice(last + 1).some(isTrace)) return unreadable(message, parts, last);
  if (!footer || !isOurs(footer)) return withoutMetadata(message, parts.filter(isFooter));

  const read = readPayload(footer);
  if ('problem' in read) return { ...unreadable(message, parts, last), problem: read.problem };
  const first = read.alone ? last : startOfRun(message, parts, last);
  const text = cut(message, parts.slice(first).filter(isFooter));
  return { text, metadata: read.metadata, version: VERSION, form: footer.form };
}

/** The message as people should see it. */
export function stripFooter(message: string): string {
  return parseFooter(message).text;
}

/** Whether a reader would take any of this for a footer, readable or not. */
export function carriesFooter(message: string): boolean {
  return findParts(message).length > 0;
}

/** Appends a block so that `parseFooter` gives back exactly this text and this metadata, whatever the text holds (F10). */
export function writeFooter(text: string, metadata: Metadata): string {
  const json = JSON.stringify(metadata);
  const message = appendBlock(text, json);
  return stripFooter(message) === text ? message : appendBlock(text, ` ${json}`);
}

function appendBlock(text: string, json: string): string {
  return `${text}${separatorAfter(text)}${openingLine(VERSION)}\n${json}\n${CLOSING}`;
}

/** The reader takes one line break away, and `\r\n` is one: a text that ends in `\r` needs a whole one of its own. */
function separatorAfter(text: string): string {
  if (text === '') return '';
  return text.endsWith('\r') ? '\r\n' : '\n';
}

function isFooter(part: Part): part is Footer {
  return part.kind === 'footer';
}

function isTrace(part: Part): part is Trace {
  return part.kind === 'trace';
}

function isOurs(part: Part): part is Footer {
  return isFooter(part) && part.version === String(VERSION);
}

/** The first of the footers which stand, one after the other, right before this one. */
function startOfRun(message: string, parts: readonly Part[], last: number): number {
  let first = last;
  for (let before = last - 1; before >= 0; before -= 1) {
    const [part, next] = [parts[before], parts[first]];
    if (!part || !next || !isFooter(part) || !isBlank(message.slice(part.end, next.start))) break;
    first = before;
  }
  return first;
}

/** Footers of other versions are cut, and their halves may then meet: what is left must not be a footer either. */
function withoutMetadata(message: string, footers: readonly Footer[]): ReadFooter {
  const text = cut(message, footers);
  const [left] = footers.length > 0 ? findParts(text) : [];
  if (!left) return { text, metadata: null };
  return {
    text: text.slice(0, left.start),
    metadata: null,
    problem: 'the footers of the message are entangled',
  };
}

/** Takes footers out. At the end of a message the line break before a footer goes too, and blank lines behind it. */
function cut(message: string, footers: readonly Footer[]): string {
  if (footers.length === 0) return message;
  let text = '';
  let at = 0;
  for (const [index, footer] of footers.entries()) {
    const between = message.slice(at, footer.start);
    if (index === 0 || !isBlank(between)) text += between;
    at = footer.end;
  }
  const rest = message.slice(at);
  return isBlank(rest) ? withoutLineBreak(text) : text + rest;
}

function withoutLineBreak(text: string): string {
  if (text.endsWith('\r\n')) return text.slice(0, -2);
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}

/** Nothing of this is safe to send: every footer is cut, and the text ends where the first trace begins. */
function unreadable(message: string, parts: readonly Part[], last: number): ReadFooter {
  const trace = parts.find(isTrace);
  const problem = parts.slice(last + 1).find(isTrace)?.problem ?? 'the footer cannot be read';
  if (!trace) return { text: cut(message, parts.filter(isFooter)), metadata: null, problem };
  const before = message.slice(0, trace.start);
  // The second half of a message that was cut in two: all that stands before the closing line is the rest of the JSON.
  if (trace.closes && before.trimEnd().endsWith('}')) return { text: '', metadata: null, problem };
  const whole = parts.slice(0, parts.indexOf(trace)).filter(isFooter);
  return { text: withoutLineBreak(cut(before, whole)), metadata: null, problem };
}

type Read = { readonly metadata: Metadata; readonly alone: boolean } | { readonly problem: string };

function readPayload(footer: Footer): Read {
  const json = footer.form === 'block' ? footer.payload : decodeUtf8(footer.payload);
  if (json === undefined) return { problem: 'the sentinel of the footer does not hold base64 of UTF-8' };
  try {
    const value: unknown = JSON.parse(json);
    if (!isObject(value)) return { problem: 'the footer holds JSON, but not an object' };
    return { metadata: value, alone: json.startsWith(STANDS_ALONE) };
  } catch {
    return { problem: 'the footer does not hold JSON' };
  }
}

function decodeUtf8(base64: string): string | undefined {
  const bytes = decodeBase64(base64);
  if (!bytes) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
