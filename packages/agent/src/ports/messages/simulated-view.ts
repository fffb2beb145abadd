import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { EFFECTS } from './effects.ts';
import type { Chat, StoredAttachment, StoredRow } from './messages.ts';
import type { SimulatedStore } from './simulated-store.ts';
import { readTapbackCode } from './tapbacks.ts';

export interface ViewedFile {
  readonly name: string;
  readonly mime: string;
  readonly size: number;
  readonly sha256: string;
}

export interface ViewedReaction {
  readonly from: string;
  readonly kind: string;
  readonly type?: string;
  readonly emoji?: string;
  readonly sticker?: { readonly name: string; readonly mime: string };
}

export interface ViewedMessage {
  readonly guid: string;
  readonly from: string;
  readonly text: string;
  readonly service: string;
  readonly effect?: string;
  readonly replyTo?: string;
  readonly attachments: readonly ViewedFile[];
  readonly voice?: { readonly durationMs?: number; readonly mime: string };
  readonly sticker?: { readonly name: string; readonly mime: string };
  readonly reactions: readonly ViewedReaction[];
  readonly state: 'sent' | 'delivered' | 'failed';
}

export type ViewedChat = Chat & { readonly messages: readonly ViewedMessage[] };

/** The world as somebody would see it who looks at every screen at once. */
export function viewChats(store: SimulatedStore): ViewedChat[] {
  return store.chats.chats().map((chat) => {
    const rows = store.chats.rowsOf(chat.id).filter((row) => row.isMessage);
    const reactions = reactionsByTarget(rows);
    return {
      ...chat,
      messages: rows
        .filter((row) => row.tapback === undefined && !row.unsent)
        .map((row) => viewMessage(store, row, reactions.get(row.guid) ?? [])),
    };
  });
}

function viewMessage(
  store: SimulatedStore,
  row: StoredRow,
  reactions: readonly ViewedReaction[],
): ViewedMessage {
  const effect = EFFECTS.find((candidate) => candidate.id === row.effect)?.name;
  const [first] = row.attachments;
  const duration = first === undefined ? undefined : store.durationOf(first.guid);
  return {
    guid: row.guid,
    from: writerOf(row),
    text: row.text,
    service: row.service,
    ...(effect === undefined ? {} : { effect }),
    ...(row.replyTo === undefined ? {} : { replyTo: row.replyTo }),
    attachments: row.attachments.map(viewFile),
    ...(row.isVoice && first !== undefined
      ? { voice: { ...(duration === undefined ? {} : { durationMs: duration }), mime: first.mime } }
      : {}),
    ...(first?.isSticker === true ? { sticker: { name: first.name, mime: first.mime } } : {}),
    reactions,
    state: store.deliveryState(row.guid),
  };
}

function reactionsByTarget(rows: readonly StoredRow[]): Map<string, ViewedReaction[]> {
  const newest = new Map<string, StoredRow>();
  for (const row of rows) {
    if (row.tapback !== undefined) newest.set(`${row.tapback.targetGuid} ${writerOf(row)}`, row);
  }
  const byTarget = new Map<string, ViewedReaction[]>();
  for (const row of newest.values()) {
    const tapback = row.tapback === undefined ? undefined : readTapbackCode(row.tapback.type);
    if (row.tapback === undefined || tapback?.action !== 'add') continue;
    const [sticker] = row.attachments;
    const reaction = {
      from: writerOf(row),
      kind: tapback.kind,
      ...(tapback.kind === 'classic' ? { type: tapback.type } : {}),
      ...(row.tapback.emoji === undefined ? {} : { emoji: row.tapback.emoji }),
      ...(sticker === undefined ? {} : { sticker: { name: sticker.name, mime: sticker.mime } }),
    };
    byTarget.set(row.tapback.targetGuid, [...(byTarget.get(row.tapback.targetGuid) ?? []), reaction]);
  }
  return byTarget;
}

function viewFile(attachment: StoredAttachment): ViewedFile {
  const bytes = attachment.path === undefined ? Buffer.alloc(0) : readFileSync(attachment.path);
  return {
    name: attachment.name,
    mime: attachment.mime,
    size: bytes.byteLength,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}

function writerOf(row: StoredRow): string {
  return row.fromMe ? 'me' : (row.sender ?? 'unknown');
}
