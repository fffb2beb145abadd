import { MEDIA_TYPES } from './media-types.ts';
import type { Conversion, MediaTypeName } from './media-types.ts';

/** Sent to the child process, before the file. */
export interface ConversionRequest {
  conversion: Conversion;
}

/** Sent back by the child process. */
export type ConversionReply =
  | { ok: true; type: MediaTypeName; /** What the conversion lost, for the recipient. */ note?: string }
  | { ok: false; /** For the recipient. */ reason: string };

const MAX_TEXT_LENGTH = 500;

/** A child process that decodes hostile files is not trusted: returns undefined for anything but a valid reply. */
export function parseReply(message: unknown): ConversionReply | undefined {
  if (typeof message !== 'object' || message === null || !('ok' in message)) return undefined;
  if (message.ok === true && 'type' in message && isMediaTypeName(message.type)) {
    const { type } = message;
    if (!('note' in message)) return { ok: true, type };
    return isShortText(message.note) ? { ok: true, type, note: message.note } : undefined;
  }
  if (message.ok === false && 'reason' in message && isShortText(message.reason))
    return { ok: false, reason: message.reason };
  return undefined;
}

const isMediaTypeName = (value: unknown): value is MediaTypeName =>
  typeof value === 'string' && Object.hasOwn(MEDIA_TYPES, value);

const isShortText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_TEXT_LENGTH;
