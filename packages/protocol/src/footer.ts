/**
 * The metadata footer of a message (F1–F4, F10, F11).
 *
 *     Loved “See you at nine”
 *     -- svc-metadata:v1 --
 *     {"chat_id":42,"reaction":{…}}
 *     -- end svc-metadata --
 *
 * The sentinel `[[SVMD:v1:<base64 of the JSON>]]` may replace the three lines.
 *
 * Parsing rules:
 * - A *footer* is a closing line with the nearest opening line above it, or a sentinel within one line. White space
 *   around the lines, CRLF and multi-line JSON are allowed. A JSON string cannot contain a raw newline, so a delimiter
 *   line is never part of the JSON.
 * - The last footer of the supported version is read. Footers adjacent to it (separated only by white space) are other
 *   versions or duplicates of it and are removed with it. Anything earlier is text, even if it looks like a footer.
 * - Footers of other versions are removed without being read. Text after a footer is kept: CRMs append opt-out lines.
 * - A *fragment* is an incomplete footer: an opening line without a closing line, a closing line without an opening line
 *   (the second half of a split message), an unterminated sentinel, or a block without its line breaks. A fragment that
 *   no supported footer follows means that the footer is unreadable: `problem` gives the reason, `metadata` is null, and
 *   the text ends where the fragment begins. Such a message must not be sent (F4).
 *
 * One case is ambiguous: text that itself ends with a footer, followed by the real one, looks like two adjacent footers.
 * The writer then puts one space before the JSON, and a block with that mark is never merged with adjacent ones (F10).
 */
import { decodeBase64, encodeBase64 } from './base64.ts';
import {
  CLOSING,
  findParts,
  openingLine,
  sentinel,
  type Footer,
  type Fragment,
  type Part,
} from './footer-parts.ts';
import type { Metadata } from './metadata.ts';
import { readJson } from './read-json.ts';
import { isObject } from './schema.ts';

export interface ReadFooter {
  /** The message without its footer. */
  readonly text: string;
  readonly metadata: Metadata | null;
  /** The version of the footer that was read. */
  readonly version?: number;
  readonly form?: 'block' | 'sentinel';
  /** The reason why the footer of the message is unreadable. */
  readonly problem?: string;
}

/** The only supported version. Of several adjacent footers, the highest supported version is read (F11). */
const VERSION = 1;
/** The start of a payload that must not be merged with adjacent footers (F10). */
const NOT_MERGED = ' {';
const OVERLAPPING = 'the message contains overlapping footers';

export function parseFooter(message: string): ReadFooter {
  const parts = findParts(message);
  const last = parts.findLastIndex(isOurs);
  const footer = parts[last];
  const fragment = parts.slice(last + 1).find(isFragment);
  if (fragment) return withoutMetadata(readableText(message, parts), fragment.problem);
  if (!footer || !isOurs(footer)) return withoutMetadata(cut(message, parts.filter(isFooter)));

  const read = readPayload(footer);
  if ('problem' in read) return withoutMetadata(readableText(message, parts), read.problem);
  const first = read.notMerged ? last : startOfRun(message, parts, last);
  const text = cut(message, parts.slice(first).filter(isFooter));
  return { text, metadata: read.metadata, version: VERSION, form: footer.form };
}

/** Returns the message without its footer. */
export function stripFooter(message: string): string {
  return parseFooter(message).text;
}

/** Returns whether the message contains a footer or a fragment of one. */
export function carriesFooter(message: string): boolean {
  return findParts(message).length > 0;
}

/**
 * Appends a footer. `parseFooter` returns exactly the same text and metadata, even if the text contains delimiters (F10).
 * The block is the default form; the sentinel is for channels that do not preserve line breaks.
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

/** The parser removes one line break, and `\r\n` counts as one: a text that ends in `\r` needs a complete `\r\n`. */
function separatorAfter(text: string): string {
  if (text === '') return '';
  return text.endsWith('\r') ? '\r\n' : '\n';
}

function isFooter(part: Part): part is Footer {
  return part.kind === 'footer';
}

function isFragment(part: Part): part is Fragment {
  return part.kind === 'fragment';
}

function isOurs(part: Part): part is Footer {
  return isFooter(part) && part.version === String(VERSION);
}

/** Returns the index of the first footer in the run of adjacent footers that ends at `last`. */
function startOfRun(message: string, parts: readonly Part[], last: number): number {
  let first = last;
  for (let before = last - 1; before >= 0; before -= 1) {
    const [part, next] = [parts[before], parts[first]];
    if (!part || !next || !isFooter(part) || !isBlank(message.slice(part.end, next.start))) break;
    first = before;
  }
  return first;
}

/** Removing a footer can join two halves of another one, so the remaining text is checked again. */
function withoutMetadata(text: string, problem?: string): ReadFooter {
  const [remaining] = findParts(text);
  if (remaining)
    return { text: text.slice(0, remaining.start), metadata: null, problem: problem ?? OVERLAPPING };
  return problem === undefined ? { text, metadata: null } : { text, metadata: null, problem };
}

/** Removes footers. At the end of a message, the line break before the footer and blank lines after it are removed too. */
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

/** Returns the text that is safe to show: without footers, and only up to the first fragment. */
function readableText(message: string, parts: readonly Part[]): string {
  const fragment = parts.find(isFragment);
  if (!fragment) return cut(message, parts.filter(isFooter));
  const before = message.slice(0, fragment.start);
  // The second half of a split message: everything before the closing line is the rest of the JSON.
  if (fragment.closes && before.trimEnd().endsWith('}')) return '';
  const footers = parts.slice(0, parts.indexOf(fragment)).filter(isFooter);
  return withoutLineBreak(cut(before, footers));
}

type Payload = { readonly metadata: Metadata; readonly notMerged: boolean } | { readonly problem: string };

function readPayload(footer: Footer): Payload {
  const json = footer.form === 'block' ? footer.payload : decodeUtf8(footer.payload);
  if (json === undefined) return { problem: 'the sentinel of the footer is not base64 of UTF-8' };
  const value = readJson(json);
  if (value === undefined) return { problem: 'the footer is not valid JSON' };
  if (!isObject(value)) return { problem: 'the footer is not a JSON object' };
  return { metadata: value, notMerged: json.startsWith(NOT_MERGED) };
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
