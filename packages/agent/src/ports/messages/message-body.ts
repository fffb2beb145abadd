import { NSAttributedString, NSString, Unarchiver } from '@parseaple/typedstream';

import { runBounded, runMuted } from './run-bounded.ts';

/** A body, decoded from `attributedBody`. */
export interface MessageBody {
  readonly text: string;
  readonly parts: readonly BodyPart[];
  readonly mentions: readonly Mention[];
  /** Messages' own transcription of a voice message, since macOS 14. */
  readonly transcript: string | undefined;
  /** The body is damaged. Its text was found by its place in the bytes; parts and mentions are missing. */
  readonly recovered: boolean;
}

/** A part of a message that a reaction can refer to: a text or an attachment. */
export interface BodyPart {
  readonly index: number;
  readonly text: string;
  readonly attachmentGuid: string | undefined;
}

export interface Mention {
  readonly handle: string;
  readonly text: string;
}

const MAX_BYTES = 1024 * 1024;
const HEADER = Buffer.from('\u0004\u000bstreamtyped', 'latin1');

const PART = '__kIMMessagePartAttributeName';
const ATTACHMENT = '__kIMFileTransferGUIDAttributeName';
const MENTION = '__kIMMentionConfirmedMention';
const TRANSCRIPT = 'IMAudioTranscription';

/** Decodes `attributedBody`: an NSAttributedString in a typedstream. Returns undefined when not even its text can be read. */
export function decodeBody(bytes: Uint8Array): MessageBody | undefined {
  const blob = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (blob.byteLength > MAX_BYTES || !blob.subarray(0, HEADER.byteLength).equals(HEADER)) return undefined;
  const run = hasBoundedTime(blob) ? runMuted : runBounded;
  return run(() => describe(decodeRoot(blob))) ?? runMuted(() => recover(blob));
}

/** Above this size, even a loop that consumes bytes can take too long. */
const MAX_QUICK_BYTES = 1024;
/** The start of an array or a struct in a type encoding. The decoder ignores the highest bit. Arrays of bytes are quick to decode. */
const COMPOUND_TYPE = /[[\xdb](?!\d+c\])|[{\xfb]/;

/**
 * Whether the decoder is certainly quick for these bytes. Every loop consumes bytes, except a loop over elements of an array or a struct
 * that occupy none. For such a body, a time limit would cost more than the decoding.
 */
export function hasBoundedTime(blob: Buffer): boolean {
  return blob.byteLength <= MAX_QUICK_BYTES && !COMPOUND_TYPE.test(blob.toString('latin1'));
}

/** Removes the placeholders of attachments (U+FFFC) and app payloads (U+FFFD) from a text. */
export function withoutPlaceholders(text: string): string {
  return text.replaceAll(/[\uFFFC\uFFFD]/g, '');
}

function decodeRoot(blob: Buffer): NSString {
  const groups: unknown = Unarchiver.open(blob, Unarchiver.BinaryDecoding.none).decodeAll();
  const [first] = Array.isArray(groups) ? (groups as unknown[]) : [];
  const values = typeof first === 'object' && first !== null && 'values' in first ? first.values : undefined;
  const [root] = Array.isArray(values) ? (values as unknown[]) : [];
  if (!(root instanceof NSString) || typeof root.string !== 'string') {
    throw new TypeError('The root of the body is not a string');
  }
  return root;
}

function describe(root: NSString): MessageBody {
  const parts = new Map<number, BodyPart>();
  const mentions: Mention[] = [];
  let transcript: string | undefined;
  for (const { text, attributes } of runsOf(root)) {
    const index = numberOf(attributes.get(PART));
    if (index !== undefined) {
      const earlier = parts.get(index);
      parts.set(index, {
        index,
        text: (earlier?.text ?? '') + withoutPlaceholders(text),
        attachmentGuid: textOf(attributes.get(ATTACHMENT)) ?? earlier?.attachmentGuid,
      });
    }
    const handle = textOf(attributes.get(MENTION));
    if (handle !== undefined) mentions.push({ handle, text });
    transcript ??= textOf(attributes.get(TRANSCRIPT));
  }
  return {
    text: withoutPlaceholders(root.string),
    parts: [...parts.values()].sort((one, other) => one.index - other.index),
    mentions,
    transcript,
    recovered: false,
  };
}

function runsOf(root: NSString): { text: string; attributes: ReadonlyMap<string, unknown> }[] {
  if (!(root instanceof NSAttributedString)) return [];
  return root.runs.map(({ range: [start = 0, length = 0], attributes }) => ({
    text: root.string.slice(start, start + length),
    attributes: new Map(Object.entries(attributes)),
  }));
}

/**
 * Finds the text of a damaged body. The text follows the class name NSString, the bytes 01 2B and its own length in bytes. The length is one
 * byte, or 81 and two bytes, or 82 and four bytes, the lowest byte first.
 */
function recover(blob: Buffer): MessageBody {
  const mark = blob.indexOf(Buffer.from([0x01, 0x2b]), blob.indexOf('NSString') + 1);
  if (mark === -1) throw new Error('The body has no text');
  const at = mark + 2;
  const [size, length] =
    blob[at] === 0x81
      ? [3, blob.readUInt16LE(at + 1)]
      : blob[at] === 0x82
        ? [5, blob.readUInt32LE(at + 1)]
        : [1, blob.readUInt8(at)];
  const bytes = blob.subarray(at + size, at + size + length);
  const text = withoutPlaceholders(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  if (bytes.byteLength < length || text.trim() === '') throw new Error('The body has no text');
  return { text, parts: [], mentions: [], transcript: undefined, recovered: true };
}

function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'bigint' ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

function textOf(value: unknown): string | undefined {
  const text: unknown = value instanceof NSString ? value.string : value;
  return typeof text === 'string' && text !== '' ? text : undefined;
}
