import { MAX_RECEIVED_ATTACHMENTS, MAX_FRAME_BYTES, MAX_TEXT_UNITS } from '@footbridge/protocol/frames';
import type { MessageReceivedFrame } from '@footbridge/protocol/frames';
import type { Animation, InboundReaction, InboundSticker } from '@footbridge/protocol/metadata';

import { EFFECTS } from '../../ports/messages/effects.ts';
import type { Chat, StoredAttachment, StoredRow, StoredTapback } from '../../ports/messages/messages.ts';
import { readTapbackCode } from '../../ports/messages/tapbacks.ts';

/** Leaves room in the frame for everything else. */
const MAX_TEXT_BYTES = MAX_FRAME_BYTES - 96 * 1024;
const MAX_RECIPIENTS = 64;
const MAX_SHORT = 256;
const MAX_DESCRIPTION = 1000;

/** Rows that are news for the CRM. Own messages, notes of the program and updates of apps are not. */
export function isNews(row: StoredRow): boolean {
  if (!row.isMessage || row.fromMe || row.unsent || row.sender === undefined) return false;
  return row.tapback === undefined || readTapbackCode(row.tapback.type) !== undefined;
}

/** What the service is told about a row. `urls` are the addresses of its files, `durationMs` that of a recording. */
export function describeMessage(
  row: StoredRow,
  chat: Chat,
  urls: readonly string[],
  durationMs: number | undefined,
): Omit<MessageReceivedFrame, 'seq'> {
  return {
    type: 'message_received',
    guid: row.guid,
    sender: row.sender ?? '',
    service: row.service,
    text: fitting(row.text),
    sentAt: new Date(row.sentAt).toISOString(),
    chat: {
      id: chat.id,
      isGroup: chat.isGroup,
      recipients: chat.recipients.slice(0, MAX_RECIPIENTS),
    },
    attachments: urls.slice(0, MAX_RECEIVED_ATTACHMENTS),
    ...contentOf(row, durationMs),
    ...(row.replyTo === undefined ? {} : { replyTo: { guid: row.replyTo } }),
  };
}

/** As much of the text as a frame can carry; nothing that a person types comes near the limit. */
function fitting(text: string): string {
  let part = text.slice(0, MAX_TEXT_UNITS).toWellFormed();
  while (Buffer.byteLength(JSON.stringify(part)) > MAX_TEXT_BYTES) {
    part = part.slice(0, Math.floor(part.length * 0.9)).toWellFormed();
  }
  return part;
}

type Content = Pick<MessageReceivedFrame, 'reaction' | 'sticker' | 'voice' | 'animation'>;

/** At most one of them: a reaction with a sticker is a reaction, a recording with an effect a recording. */
function contentOf(row: StoredRow, durationMs: number | undefined): Content {
  const [file] = row.attachments;
  if (row.tapback !== undefined) {
    const reaction = reactionOf(row.tapback, file);
    return reaction === undefined ? {} : { reaction };
  }
  if (file?.isSticker === true) return { sticker: stickerOf(file) };
  if (row.isVoice) {
    const duration = durationMs === undefined ? {} : { duration_ms: Math.max(0, Math.round(durationMs)) };
    return { voice: { ...duration, ...(file === undefined ? {} : { mime_type: short(file.mime) }) } };
  }
  return row.effect === undefined ? {} : { animation: animationOf(row.effect) };
}

function reactionOf(
  stored: StoredTapback,
  sticker: StoredAttachment | undefined,
): InboundReaction | undefined {
  const tapback = readTapbackCode(stored.type);
  if (tapback === undefined) return undefined;
  const common = {
    kind: tapback.kind,
    action: tapback.action,
    target_message_guid: stored.targetGuid,
    target_message_guid_raw: stored.targetRaw,
  };
  if (tapback.kind === 'classic') return { ...common, type: tapback.type };
  if (tapback.kind === 'emoji') {
    return stored.emoji === undefined ? common : { ...common, emoji: stored.emoji };
  }
  // The sticker's id is owed even when its file never came (F6): then the row's own target stands for it.
  return { ...common, sticker: sticker === undefined ? { guid: stored.targetGuid } : stickerOf(sticker) };
}

function stickerOf(file: StoredAttachment): InboundSticker {
  const { description } = file;
  return {
    guid: short(file.guid),
    mime_type: short(file.mime),
    name: short(file.name),
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

function short(text: string): string {
  return text.slice(0, MAX_SHORT).toWellFormed();
}
