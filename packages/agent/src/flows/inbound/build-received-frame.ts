import { MAX_RECEIVED_ATTACHMENTS, MAX_FRAME_BYTES, MAX_TEXT_UNITS } from '@footbridge/protocol/frames';
import type { MessageReceivedFrame } from '@footbridge/protocol/frames';
import type { Animation, InboundReaction, InboundSticker } from '@footbridge/protocol/metadata';

import { EFFECTS } from '@footbridge/protocol/effects';
import type { Chat, StoredAttachment, StoredRow, StoredTapback } from '../../ports/messages/messages.ts';
import { readTapbackCode } from '@footbridge/protocol/tapbacks';

/** Leaves room for the other fields of the frame. */
const MAX_TEXT_BYTES = MAX_FRAME_BYTES - 96 * 1024;
const MAX_RECIPIENTS = 64;
const MAX_FIELD = 256;
const MAX_RAW_GUID = 512;
const MAX_EMOJI = 64;
const MAX_DESCRIPTION = 1000;

/** The text of a message without any readable content. An empty message would look like a fault of the CRM. */
export const UNREADABLE = '[This message could not be read on the Mac.]';

/** Whether a row may be reported. Group events and app updates never are, and outgoing messages only when they are mirrored. */
export function isCandidate(row: StoredRow, mirrors: boolean): boolean {
  if (!row.isMessage || row.unsent) return false;
  if (row.fromMe) return mirrors && row.tapback === undefined;
  return row.tapback === undefined || readTapbackCode(row.tapback.type) !== undefined;
}

/**
 * Whether a row is reported to the CRM. A link preview is not, because its text is reported. Neither is a message that this Mac sent to
 * itself. Both are known only once the row is joined to its chat.
 */
export function isReportable(row: StoredRow, ownHandles: readonly string[]): boolean {
  if (row.fromMe || !isCandidate(row, false) || row.sender === undefined || row.previewOf !== undefined)
    return false;
  return !row.isEcho && !ownHandles.includes(row.sender);
}

/** Whether an outgoing message is mirrored to the CRM: it has content, goes to a single other person, and is not a link preview. */
export function isMirrorable(row: StoredRow, chat: Chat, ownHandles: readonly string[]): boolean {
  if (!row.fromMe || !isCandidate(row, true) || row.previewOf !== undefined || chat.isGroup) return false;
  const [person, ...others] = chat.recipients;
  return person !== undefined && others.length === 0 && !ownHandles.includes(person);
}

/** The input of a frame besides the row and its chat. */
export interface FrameParts {
  /** The addresses of the uploaded files. */
  readonly urls: readonly string[];
  /** The duration of a voice message. */
  readonly durationMs: number | undefined;
  /** Used when the row has no valid date. */
  readonly receivedAt: number;
}

export function buildReceivedFrame(
  row: StoredRow,
  chat: Chat,
  { urls, durationMs, receivedAt }: FrameParts,
): Omit<MessageReceivedFrame, 'seq'> {
  return {
    type: 'message_received',
    guid: row.guid,
    sender: (row.fromMe ? chat.recipients[0] : row.sender) ?? '',
    service: row.service,
    text: truncate(textOf(row, urls)),
    sentAt: new Date(row.sentAt ?? receivedAt).toISOString(),
    chat: {
      id: chat.id,
      isGroup: chat.isGroup,
      recipients: chat.recipients.slice(0, MAX_RECIPIENTS),
    },
    attachments: urls.slice(0, MAX_RECEIVED_ATTACHMENTS),
    ...(row.fromMe ? { fromMe: true } : metadataOf(row, durationMs)),
  };
}

/** Returns the text of a row, else the transcript of a voice message, else `UNREADABLE` if there is nothing to show. */
function textOf(row: StoredRow, urls: readonly string[]): string {
  if (row.text.trim() !== '') return row.text;
  if (row.transcript !== undefined) return row.transcript;
  return row.tapback === undefined && urls.length === 0 ? UNREADABLE : row.text;
}

/** Truncates a text to the limits of a frame. */
function truncate(text: string): string {
  let part = text.slice(0, MAX_TEXT_UNITS).toWellFormed();
  while (Buffer.byteLength(JSON.stringify(part)) > MAX_TEXT_BYTES) {
    part = part.slice(0, Math.floor(part.length * 0.9)).toWellFormed();
  }
  return part;
}

type Content = Pick<MessageReceivedFrame, 'reaction' | 'sticker' | 'voice' | 'animation'>;

function metadataOf(
  row: StoredRow,
  durationMs: number | undefined,
): Content & Pick<MessageReceivedFrame, 'replyTo'> {
  return {
    ...contentOf(row, durationMs),
    ...(isGuid(row.replyTo) ? { replyTo: { guid: row.replyTo } } : {}),
  };
}

/**
 * Returns at most one field: a sticker reaction is a reaction, and a voice message with an effect is a voice message. Omits values that
 * the frame does not allow, because an invalid frame would lose the message.
 */
function contentOf(row: StoredRow, durationMs: number | undefined): Content {
  const [file] = row.attachments;
  if (row.tapback !== undefined) {
    const reaction = reactionOf(row.tapback, file);
    return reaction === undefined ? {} : { reaction };
  }
  if (file?.isSticker === true) return file.guid === '' ? {} : { sticker: stickerOf(file) };
  if (row.isVoice) {
    const ms = Math.max(0, Math.round(durationMs ?? NaN));
    const duration = Number.isSafeInteger(ms) ? { duration_ms: ms } : {};
    return { voice: { ...duration, ...(file === undefined ? {} : { mime_type: shorten(file.mime) }) } };
  }
  return row.effect === undefined ? {} : { animation: animationOf(row.effect) };
}

function reactionOf(
  stored: StoredTapback,
  sticker: StoredAttachment | undefined,
): InboundReaction | undefined {
  const tapback = readTapbackCode(stored.type);
  if (tapback === undefined || !isGuid(stored.targetGuid)) return undefined;
  const common = {
    kind: tapback.kind,
    action: tapback.action,
    target_message_guid: stored.targetGuid,
    ...(stored.targetRaw.length <= MAX_RAW_GUID ? { target_message_guid_raw: stored.targetRaw } : {}),
  };
  if (tapback.kind === 'classic') return { ...common, type: tapback.type };
  if (tapback.kind === 'emoji') {
    const { emoji } = stored;
    return emoji === undefined || emoji.length > MAX_EMOJI ? common : { ...common, emoji };
  }
  // F6 requires a sticker guid. A sticker without one gets the guid of its target.
  const guid = sticker?.guid || stored.targetGuid;
  return { ...common, sticker: sticker === undefined ? { guid } : stickerOf({ ...sticker, guid }) };
}

function stickerOf(file: StoredAttachment): InboundSticker {
  const { description } = file;
  return {
    guid: shorten(file.guid),
    mime_type: shorten(file.mime),
    name: shorten(file.name),
    ...(description === undefined
      ? {}
      : { short_description: description.slice(0, MAX_DESCRIPTION).toWellFormed() }),
  };
}

function animationOf(id: string): Animation {
  const known = EFFECTS.find((effect) => effect.id === id);
  if (known !== undefined) return { effect: known.name, kind: known.kind };
  const kind = id.includes('expressivesend') ? 'bubble' : 'screen';
  return { effect: id.split('.').at(-1)?.slice(0, 128) || 'unknown', kind };
}

function isGuid(text: string | undefined): text is string {
  return text !== undefined && text !== '' && text.length <= MAX_FIELD;
}

function shorten(text: string): string {
  return text.slice(0, MAX_FIELD).toWellFormed();
}
