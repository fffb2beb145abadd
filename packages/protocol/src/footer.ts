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
 *   never opened (the second half of a message cut in two), a sentinel that never ends, a block whose lines were
 *   joined. A trace with no good footer behind it means that there is a footer which we cannot read: `problem` says
 *   why, `metadata` is null, and the text stops where the trace begins. Whoever sends must not send it (F4).
 *
 * One ambiguity is left: text that itself ends with a footer, followed by the real one, looks like two footers side by
 * side. The writer marks its block in that case by one space before the JSON, and a marked block stands alone (F10).
 */
import { decodeBase64, encodeBase64 } from './base64.ts';
import {
  CLOSING,
  findParts,
  openingLine,
  sentinel,
  type Footer,
  type Part,
  type Trace,
} from './footer-parts.ts';
import type { Metadata } from './metadata.ts';
import { isObject } from './schema.ts';

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
const ENTANGLED = 'the footers of the message are entangled';

export function parseFooter(message: string): ReadFooter {
  const parts = findParts(message);
  const last = parts.findLastIndex(isOurs);
  const footer = parts[last];
  const trace = parts.slice(last + 1).find(isTrace);
  if (trace) return withoutMetadata(readableText(message, parts), trace.problem);
  if (!footer || !isOurs(footer)) return withoutMetadata(cut(message, parts.filter(isFooter)));

  const read = readPayload(footer);
  if ('problem' in read) return withoutMetadata(readableText(message, parts), read.problem);
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

/**
 * Appends a footer so that `parseFooter` gives back exactly this text and this metadata, whatever the text holds (F10).
 * The block is what everybody writes; the sentinel is for channels that do not keep line breaks.
 */
export function writeFooter(text: string, metadata: Metadata, form: 'block' | 'sentinel' = 'block'): string {
  const json = JSON.stringify(metadata);
  const message = append(text, json, form);
  return stripFooter(message) === text ? message : append(text, ` ${json}`, form);
}

function append(text: string, json: string, form: 'block' | 'sentinel'): string {
  const footer =
    form === 'block'
      ? `${openingLine(VERSION)}\n${json}\n${CLOSING}`
      : sentinel(VERSION, encodeBase64(new TextEncoder().encode(json)));
  return text + separatorAfter(text) + footer;
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

/** Where footers were cut, halves of others may meet: what is left must not be a footer either. */
function withoutMetadata(text: string, problem?: string): ReadFooter {
  const [left] = findParts(text);
  if (left) return { text: text.slice(0, left.start), metadata: null, problem: problem ?? ENTANGLED };
  return problem === undefined ? { text, metadata: null } : { text, metadata: null, problem };
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

/** What is safe to show: every footer is cut, and the text ends where the first trace begins. */
function readableText(message: string, parts: readonly Part[]): string {
  const trace = parts.find(isTrace);
  if (!trace) return cut(message, parts.filter(isFooter));
  const before = message.slice(0, trace.start);
  // The second half of a message that was cut in two: all that stands before the closing line is the rest of the JSON.
  if (trace.closes && before.trimEnd().endsWith('}')) return '';
  const whole = parts.slice(0, parts.indexOf(trace)).filter(isFooter);
  return withoutLineBreak(cut(before, whole));
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
