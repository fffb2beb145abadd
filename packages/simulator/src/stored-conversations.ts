import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { SQLOutputValue } from 'node:sqlite';

import { EFFECTS } from '@footbridge/protocol/effects';
import { readTapbackCode, stripTargetPrefix } from '@footbridge/protocol/tapbacks';

import type { MessagesApp } from './messages-app.ts';
import { GROUP_STYLE, MACOS_EPOCH_MS, withoutPlaceholders } from './messages-store.ts';
import type { ChatView, FileView, MessageView, ReactionView, ServiceName } from './simulation.ts';

type Row = Readonly<Record<string, SQLOutputValue>>;

/** A message or a reaction as the store has it. */
export interface SimulatedRow {
  readonly guid: string;
  readonly chatRowid: number;
  /** `me`, or the handle of the sender. */
  readonly from: string;
  readonly service: ServiceName;
  readonly text: string;
  /** The target of a reaction with the prefix for its part, and its code. */
  readonly tapback?: { readonly target: string; readonly code: number; readonly emoji?: string };
  readonly columns: Row;
}

/** The conversations of a simulated Messages. Chats are named by their rows in the store. */
export class StoredConversations {
  readonly #app: MessagesApp;

  constructor(app: MessagesApp) {
    this.#app = app;
  }

  message(guid: string): SimulatedRow | undefined {
    return this.#rows('m.guid = ?', guid)[0];
  }

  messagesOf(chatRowid: number): SimulatedRow[] {
    return this.#rows('j.chat_id = ? ORDER BY m.ROWID', chatRowid);
  }

  /** Returns every chat with its messages as they appear on screen. */
  view(): ChatView[] {
    return this.#app.store.chats().map(({ rowid, style, service, members }) => {
      const rows = this.messagesOf(rowid).filter(({ columns }) => Number(columns['item_type'] ?? 0) === 0);
      const reactions = this.#reactionsByTarget(rows);
      return {
        id: rowid,
        isGroup: style === GROUP_STYLE,
        recipients: members,
        service: serviceName(service),
        messages: rows
          .filter((row) => row.tapback === undefined && !isUnsent(row.columns))
          .map((row) => this.#viewMessage(row, reactions.get(row.guid) ?? [])),
      };
    });
  }

  #rows(condition: string, value: string | number): SimulatedRow[] {
    return this.#app.store
      .query(
        `SELECT m.*, h.id AS sender, j.chat_id AS chat FROM message m JOIN chat_message_join j ON j.message_id = m.ROWID
         LEFT JOIN handle h ON h.ROWID = m.handle_id WHERE ${condition}`,
        value,
      )
      .map((row) => this.#read(row));
  }

  #read(columns: Row): SimulatedRow {
    const { is_from_me, sender, associated_message_guid: target, associated_message_emoji: emoji } = columns;
    const guid = String(columns['guid']);
    const text = columns['text'] ?? this.#app.written.get(guid)?.text ?? '';
    return {
      guid,
      chatRowid: Number(columns['chat']),
      from: is_from_me === 1n ? 'me' : String(sender ?? 'unknown'),
      service: serviceName(columns['service']),
      text: withoutPlaceholders(String(text)),
      ...(typeof target === 'string' && {
        tapback: {
          target,
          code: Number(columns['associated_message_type']),
          ...(typeof emoji === 'string' && { emoji }),
        },
      }),
      columns,
    };
  }

  #viewMessage(row: SimulatedRow, reactions: readonly ReactionView[]): MessageView {
    const { guid, from, text, service, columns } = row;
    const effect = EFFECTS.find(({ id }) => id === columns['expressive_send_style_id'])?.name;
    const replyTo = columns['thread_originator_guid'];
    const files = this.#app.store.filesOf(guid);
    const [first] = files;
    const { durationMs } = first ?? {};
    return {
      guid,
      from,
      text,
      service,
      sentAt: Number(columns['date'] ?? 0n) / 1_000_000 + MACOS_EPOCH_MS,
      ...(effect !== undefined && { effect }),
      ...(typeof replyTo === 'string' && { replyTo }),
      attachments: files.map(viewFile),
      ...(columns['is_audio_message'] === 1n &&
        first !== undefined && {
          voice: { ...(durationMs !== undefined && { durationMs }), mime: first.mime },
        }),
      ...(first?.isSticker === true && { sticker: { name: first.name, mime: first.mime } }),
      reactions,
      state: stateOf(row),
    };
  }

  #reactionsByTarget(rows: readonly SimulatedRow[]): Map<string, ReactionView[]> {
    const newest = new Map<string, SimulatedRow>();
    for (const row of rows)
      if (row.tapback !== undefined) newest.set(`${stripTargetPrefix(row.tapback.target)} ${row.from}`, row);
    const byTarget = new Map<string, ReactionView[]>();
    for (const { guid, from, tapback } of newest.values()) {
      const read = readTapbackCode(tapback?.code ?? 0);
      if (tapback === undefined || read?.action !== 'add') continue;
      const [sticker] = this.#app.store.filesOf(guid);
      const target = stripTargetPrefix(tapback.target);
      const reaction = {
        from,
        kind: read.kind,
        ...(read.kind === 'classic' && { type: read.type }),
        ...(tapback.emoji !== undefined && { emoji: tapback.emoji }),
        ...(sticker !== undefined && { sticker: { name: sticker.name, mime: sticker.mime } }),
      };
      byTarget.set(target, [...(byTarget.get(target) ?? []), reaction]);
    }
    return byTarget;
  }
}

/** The state that Messages shows under the bubble. */
function stateOf({ from, columns }: SimulatedRow): MessageView['state'] {
  if (from !== 'me') return 'delivered';
  if (Number(columns['error'] ?? 0) !== 0) return 'failed';
  return columns['is_delivered'] === 1n ? 'delivered' : 'sent';
}

function isUnsent(columns: Row): boolean {
  return columns['is_empty'] === 1n || columns['part_count'] === 0n;
}

function viewFile({ name, mime, path }: { name: string; mime: string; path: string | undefined }): FileView {
  const bytes = path !== undefined && existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  return {
    name,
    mime,
    size: bytes.byteLength,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}

function serviceName(value: SQLOutputValue | undefined): ServiceName {
  return value === 'SMS' || value === 'RCS' ? value : 'iMessage';
}
