import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { EFFECTS } from './effects.ts';
import type { StoredAttachment, StoredRow } from './messages.ts';
import type { ChatDb } from './chat-db.ts';
import type { ChatView, FileView, MessageView, ReactionView } from './simulation.ts';
import { readTapbackCode } from './tapbacks.ts';

/** A store, and what only the owner of the store knows about its messages. */
export interface ViewedStore {
  readonly chats: Pick<ChatDb, 'chats' | 'rowsOf'>;
  durationOf(attachmentGuid: string): number | undefined;
  deliveryState(guid: string): MessageView['state'];
}

/** Returns every chat with its messages as they appear on screen. */
export function viewChats(store: ViewedStore): ChatView[] {
  return store.chats.chats().map(({ id, isGroup, recipients, service }) => {
    const rows = store.chats.rowsOf(id).filter((row) => row.isMessage);
    const reactions = reactionsByTarget(rows);
    return {
      id,
      isGroup,
      recipients,
      service,
      messages: rows
        .filter((row) => row.tapback === undefined && !row.unsent)
        .map((row) => viewMessage(store, row, reactions.get(row.guid) ?? [])),
    };
  });
}

function viewMessage(store: ViewedStore, row: StoredRow, reactions: readonly ReactionView[]): MessageView {
  const effect = EFFECTS.find((candidate) => candidate.id === row.effect)?.name;
  const [first] = row.attachments;
  const duration = first === undefined ? undefined : store.durationOf(first.guid);
  return {
    guid: row.guid,
    from: senderOf(row),
    text: row.text,
    service: row.service,
    sentAt: row.sentAt ?? 0,
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

function reactionsByTarget(rows: readonly StoredRow[]): Map<string, ReactionView[]> {
  const newest = new Map<string, StoredRow>();
  for (const row of rows) {
    if (row.tapback !== undefined) newest.set(`${row.tapback.targetGuid} ${senderOf(row)}`, row);
  }
  const byTarget = new Map<string, ReactionView[]>();
  for (const row of newest.values()) {
    const tapback = row.tapback === undefined ? undefined : readTapbackCode(row.tapback.type);
    if (row.tapback === undefined || tapback?.action !== 'add') continue;
    const [sticker] = row.attachments;
    const reaction = {
      from: senderOf(row),
      kind: tapback.kind,
      ...(tapback.kind === 'classic' ? { type: tapback.type } : {}),
      ...(row.tapback.emoji === undefined ? {} : { emoji: row.tapback.emoji }),
      ...(sticker === undefined ? {} : { sticker: { name: sticker.name, mime: sticker.mime } }),
    };
    byTarget.set(row.tapback.targetGuid, [...(byTarget.get(row.tapback.targetGuid) ?? []), reaction]);
  }
  return byTarget;
}

function viewFile(attachment: StoredAttachment): FileView {
  const bytes = attachment.path === undefined ? Buffer.alloc(0) : readFileSync(attachment.path);
  return {
    name: attachment.name,
    mime: attachment.mime,
    size: bytes.byteLength,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}

function senderOf(row: StoredRow): string {
  return row.fromMe ? 'me' : (row.sender ?? 'unknown');
}
