import type { SQLInputValue, SQLOutputValue } from 'node:sqlite';

import { attachmentFileState, resolveAttachmentPath } from './attachment-files.ts';
import type { MessagesFolders } from './attachment-files.ts';
import { cleanHandle, serviceName, textOf } from './chats.ts';
import type { Chats } from './chats.ts';
import { Columns } from './columns.ts';
import { linkIn } from './link-in.ts';
import { decodeBody, withoutPlaceholders } from './message-body.ts';
import type { MessageBody } from './message-body.ts';
import { LINK_PREVIEW } from './messages.ts';
import type {
  BodyState,
  RowGuard,
  SendState,
  StoredAttachment,
  StoredRow,
  StoredTapback,
} from './messages.ts';
import type { Statements } from './statements.ts';
import { readSummaryInfo } from './summary-info.ts';
import { stripTargetPrefix } from '@footbridge/protocol/tapbacks';

type Row = Record<string, SQLOutputValue>;

/** A message row. Its chat is a row of the store. */
export type MessageRow = Omit<StoredRow, 'chatId'> & { readonly chatRowid: number | undefined };

const MACOS_EPOCH_MS = Date.UTC(2001, 0, 1);
/** A later time is not a date: Messages stores 2^63 − 1 in some rows. */
const LAST_DATE_MS = Date.UTC(2100, 0, 1);
const TRANSFER_FINISHED = 5;
/** Marks the place of an attachment in a text. */
const ATTACHMENT_PLACEHOLDER = '\uFFFC';
/** How many messages of the chat can separate a text from its link preview. */
const PREVIEW_ROWS = 20;
const PREVIEW_MS = 10_000;

const isPositive = (column: string): string => `coalesce(${column}, 0) > 0`;

const MESSAGE = {
  text: { column: 'text' },
  body: { column: 'attributedBody' },
  is_from_me: { column: 'is_from_me' },
  handle_id: { column: 'handle_id' },
  service: { column: 'service' },
  sent_to: { column: 'destination_caller_id' },
  // Nanoseconds since macOS 10.13, seconds before. Divided in SQL, because nanoseconds exceed the safe integers of JavaScript.
  date_ms: {
    column: 'date',
    as: (date) => `CASE WHEN ${date} < 100000000000 THEN ${date} * 1000 ELSE ${date} / 1000000 END`,
  },
  item_type: { column: 'item_type' },
  tapback_target: { column: 'associated_message_guid' },
  tapback_type: { column: 'associated_message_type' },
  tapback_emoji: { column: 'associated_message_emoji' },
  is_audio: { column: 'is_audio_message' },
  has_attachments: { column: 'cache_has_attachments' },
  effect: { column: 'expressive_send_style_id' },
  part_count: { column: 'part_count' },
  reply_to: { column: 'thread_originator_guid' },
  summary: { column: 'message_summary_info' },
  balloon: { column: 'balloon_bundle_id' },
  is_spam: { column: 'is_spam' },
  is_edited: { column: 'date_edited', as: isPositive },
} as const satisfies Record<string, { column: string; as?: (column: string) => string }>;

/** The columns by which a received message and its time are recognised. */
const RECEIVED = {
  date_ms: MESSAGE.date_ms,
  is_from_me: MESSAGE.is_from_me,
  item_type: MESSAGE.item_type,
} as const;

const SEND_STATE = {
  is_finished: { column: 'is_finished' },
  is_sent: { column: 'is_sent' },
  is_delivered: { column: 'is_delivered' },
  error: { column: 'error' },
} as const;

const ATTACHMENT = {
  filename: { column: 'filename' },
  transfer_name: { column: 'transfer_name' },
  mime_type: { column: 'mime_type' },
  uti: { column: 'uti' },
  is_sticker: { column: 'is_sticker' },
  transfer_state: { column: 'transfer_state' },
  is_hidden: { column: 'hide_attachment' },
  description: { column: 'emoji_image_short_description' },
} as const;

const CHAT = { is_filtered: { column: 'is_filtered' } } as const;

const HANDLE = { sender: { column: 'id' }, sender_as_typed: { column: 'uncanonicalized_id' } } as const;

/**
 * Selects the chat of a row that is joined to two chats: the chat whose member the sender is, or else the older chat. Uses min() because
 * SQLite 3.51, which is bundled with Node 22, cannot resolve `h` in a subquery inside ORDER BY.
 */
const CHAT_OF_MESSAGE = `coalesce(
          (SELECT min(j.chat_id) FROM chat_message_join j JOIN chat_handle_join member ON member.chat_id = j.chat_id
            JOIN handle person ON person.ROWID = member.handle_id WHERE j.message_id = m.ROWID AND person.id = h.id),
          (SELECT min(j.chat_id) FROM chat_message_join j WHERE j.message_id = m.ROWID))`;

/** The MIME types of files that Messages stores only with a uniform type identifier. */
const MIME_BY_UTI: Readonly<Record<string, string>> = {
  'com.apple.coreaudio-format': 'audio/x-caf',
  'public.heic': 'image/heic',
  'public.jpeg': 'image/jpeg',
  'public.png': 'image/png',
  'com.compuserve.gif': 'image/gif',
  'com.apple.quicktime-movie': 'video/quicktime',
};

/** Reads the messages of a store. Caches no row, because rows change after they are inserted. */
export class Rows {
  readonly #sql: Statements;
  readonly #columns: Columns;
  readonly #chats: Chats;
  readonly #folders: MessagesFolders;
  readonly #guard: RowGuard;

  constructor(sql: Statements, chats: Chats, folders: MessagesFolders, guard: RowGuard = READS_ALL) {
    this.#sql = sql;
    this.#columns = new Columns(sql);
    this.#chats = chats;
    this.#folders = folders;
    this.#guard = guard;
  }

  /** Returns the rows that match a condition on `m`, oldest first. */
  where(condition: string, ...values: SQLInputValue[]): MessageRow[] {
    this.#columns.refresh();
    return this.#sql
      .of(`${this.#select()} WHERE ${condition}`)
      .all(...values)
      .map((row) => this.#guard.read(String(row['guid']), () => this.#read(row)) ?? notRead(row));
  }

  /**
   * Returns the guids of the messages that people sent since this time, in insertion order. A message without a valid date counts unless a
   * later row is older than this time. Returns none for a store without dates.
   */
  guidsSince(time: number): string[] {
    if (!this.have(['date'])) return [];
    const sql = `WITH received AS (SELECT m.ROWID AS rowid, m.guid, ${this.#columns.list('message', 'm', RECEIVED)} FROM message m),
        dated AS (SELECT rowid, date_ms FROM received WHERE date_ms > 0 AND date_ms < ?2)
      SELECT guid FROM received WHERE coalesce(is_from_me, 0) = 0 AND coalesce(item_type, 0) = 0
        AND CASE WHEN date_ms > 0 AND date_ms < ?2 THEN date_ms >= ?1
          ELSE rowid > (SELECT coalesce(max(rowid), 0) FROM dated WHERE date_ms < ?1) END
      ORDER BY rowid`;
    return this.#sql
      .of(sql)
      .all(time - MACOS_EPOCH_MS, LAST_DATE_MS - MACOS_EPOCH_MS)
      .map((row) => String(row['guid']));
  }

  have(columns: readonly string[]): boolean {
    this.#columns.refresh();
    return columns.every((column) => this.#columns.has('message', column));
  }

  body(guid: string): MessageBody | undefined {
    this.#columns.refresh();
    if (!this.#columns.has('message', 'attributedbody')) return undefined;
    const row = this.#sql.of('SELECT attributedBody AS body FROM message WHERE guid = ?').get(guid);
    const body = row?.['body'];
    return body instanceof Uint8Array ? this.#guard.read(guid, () => decodeBody(body)) : undefined;
  }

  sendState(guid: string): SendState | undefined {
    this.#columns.refresh();
    const sql = `SELECT ${this.#columns.list('message', 'm', SEND_STATE)} FROM message m WHERE m.guid = ?`;
    const row = this.#sql.of(sql).get(guid);
    if (row === undefined) return undefined;
    const { is_finished: finished, is_sent: sent, is_delivered: delivered, error } = row;
    return {
      guid,
      finished: finished === 1,
      sent: sent === 1,
      delivered: delivered === 1,
      error: Number(error ?? 0),
    };
  }

  #select(): string {
    const handle = this.#columns.has('message', 'handle_id') ? 'm.handle_id' : 'NULL';
    return `SELECT m.ROWID AS rowid, m.guid, ${this.#columns.list('message', 'm', MESSAGE)},
        ${this.#columns.list('handle', 'h', HANDLE)}, ${this.#columns.list('chat', 'c', CHAT)}, c.ROWID AS chat_id,
        EXISTS (SELECT 1 FROM message_attachment_join f WHERE f.message_id = m.ROWID) AS has_files
      FROM message m LEFT JOIN handle h ON h.ROWID = ${handle} LEFT JOIN chat c ON c.ROWID = ${CHAT_OF_MESSAGE}`;
  }

  #read(row: Row): MessageRow {
    const rowid = Number(row['rowid']);
    const chatRowid = row['chat_id'] === null ? undefined : Number(row['chat_id']);
    const fromMe = row['is_from_me'] === 1;
    const joined = row['has_files'] === 1 ? this.#attachments(rowid) : [];
    const content = readContent(row, joined);
    const retracted = content.retracted.length > 0 || row['part_count'] === 0;
    const balloon = textOf(row['balloon']);
    const isMessage = (row['item_type'] ?? 0) === 0;
    const sender = cleanHandle(row['sender'], row['sender_as_typed']) ?? this.#otherIn(chatRowid, fromMe);
    const result: MessageRow = {
      rowid,
      guid: String(row['guid']),
      chatRowid,
      fromMe,
      sender,
      isEcho: !fromMe && sender !== undefined && row['sent_to'] === sender,
      service: serviceName(row['service']),
      text: content.text,
      bodyState: content.bodyState,
      transcript: content.transcript,
      sentAt: dateOf(row['date_ms']),
      isMessage,
      unsent: retracted && content.text === '' && content.attachments.length === 0,
      edited: row['is_edited'] === 1,
      filtered: row['is_spam'] === 1 || Number(row['is_filtered'] ?? 0) !== 0,
      tapback: readTapback(row),
      effect: textOf(row['effect']),
      replyTo: textOf(row['reply_to']),
      isVoice: row['is_audio'] === 1,
      balloon,
      previewOf: undefined,
      expectsAttachments: content.expectsAttachments,
      attachments: content.attachments,
    };
    return balloon === LINK_PREVIEW ? { ...result, previewOf: this.#linkOf(result) } : result;
  }

  /** Returns the sender of an inbound row without a handle, which Messages sometimes stores: in a direct chat, the other person. */
  #otherIn(chatRowid: number | undefined, fromMe: boolean): string | undefined {
    const chat = fromMe || chatRowid === undefined ? undefined : this.#chats.byRowid(chatRowid);
    return chat?.isGroup === false ? chat.recipients[0] : undefined;
  }

  /** Returns the guid of the text that a link preview belongs to. Messages stores a link preview in its own row. */
  #linkOf(preview: MessageRow): string | undefined {
    if (preview.chatRowid === undefined) return undefined;
    const near = this.where(
      `m.ROWID IN (
          SELECT message_id FROM (SELECT message_id FROM chat_message_join WHERE chat_id = ?1 AND message_id < ?2
            ORDER BY message_id DESC LIMIT ${PREVIEW_ROWS})
          UNION ALL
          SELECT message_id FROM (SELECT message_id FROM chat_message_join WHERE chat_id = ?1 AND message_id > ?2
            ORDER BY message_id LIMIT ${PREVIEW_ROWS}))
        AND m.balloon_bundle_id IS NULL ORDER BY abs(m.ROWID - ?2)`,
      preview.chatRowid,
      preview.rowid,
    );
    const link = linkIn(preview.text);
    return near.find(
      (row) =>
        row.isMessage &&
        row.tapback === undefined &&
        row.fromMe === preview.fromMe &&
        row.sender === preview.sender &&
        Math.abs((row.sentAt ?? 0) - (preview.sentAt ?? 0)) <= PREVIEW_MS &&
        (link === undefined ? linkIn(row.text) !== undefined : row.text.toLowerCase().includes(link)),
    )?.guid;
  }

  #attachments(rowid: number): JoinedAttachment[] {
    const sql = `SELECT a.guid, ${this.#columns.list('attachment', 'a', ATTACHMENT)}
      FROM attachment a JOIN message_attachment_join j ON j.attachment_id = a.ROWID
      WHERE j.message_id = ? ORDER BY a.ROWID`;
    return this.#sql
      .of(sql)
      .all(rowid)
      .map((row) => this.#readAttachment(row));
  }

  #readAttachment(row: Row): JoinedAttachment {
    const stored = textOf(row['filename']);
    const path = stored === undefined ? undefined : resolveAttachmentPath(stored, this.#folders);
    const finished = row['transfer_state'] === TRANSFER_FINISHED;
    const name = textOf(row['transfer_name']) ?? path?.split('/').at(-1) ?? 'attachment';
    const file: StoredAttachment = {
      guid: String(row['guid']),
      path,
      name,
      mime: textOf(row['mime_type']) ?? MIME_BY_UTI[textOf(row['uti']) ?? ''] ?? 'application/octet-stream',
      isSticker: row['is_sticker'] === 1,
      description: textOf(row['description']),
      state: !finished || path === undefined ? 'waiting' : attachmentFileState(path, this.#folders),
    };
    const isPreview = [name, stored ?? ''].some((text) => text.endsWith(PREVIEW_FILE));
    return { file, isHidden: isPreview || row['is_hidden'] === 1 };
  }
}

const READS_ALL: RowGuard = { read: (_guid, read) => read() };

/** The fields of a row whose content is unknown. */
export const WITHOUT_CONTENT = {
  sender: undefined,
  isEcho: false,
  service: 'iMessage',
  text: '',
  bodyState: 'unreadable',
  transcript: undefined,
  sentAt: undefined,
  unsent: false,
  edited: false,
  filtered: false,
  tapback: undefined,
  effect: undefined,
  replyTo: undefined,
  isVoice: false,
  balloon: undefined,
  previewOf: undefined,
  expectsAttachments: false,
  attachments: [],
} as const satisfies Partial<StoredRow>;

/** Returns a row without its content, which may crash the agent. */
function notRead(row: Row): MessageRow {
  return {
    rowid: Number(row['rowid']),
    guid: String(row['guid']),
    chatRowid: row['chat_id'] === null ? undefined : Number(row['chat_id']),
    fromMe: row['is_from_me'] === 1,
    isMessage: (row['item_type'] ?? 0) === 0,
    isNotRead: true,
    ...WITHOUT_CONTENT,
  };
}

/** Ends the name of an attachment that holds the data of a link preview. */
const PREVIEW_FILE = '.pluginPayloadAttachment';

/** An attachment as joined to its message. A hidden attachment is data that Messages does not show as a file. */
interface JoinedAttachment {
  readonly file: StoredAttachment;
  readonly isHidden: boolean;
}

interface Content {
  readonly text: string;
  readonly bodyState: BodyState;
  readonly transcript: string | undefined;
  readonly retracted: readonly number[];
  readonly attachments: readonly StoredAttachment[];
  readonly expectsAttachments: boolean;
}

/** Since macOS 13 most bodies are in `attributedBody` only, and `text` is NULL. */
function readContent(row: Row, joined: readonly JoinedAttachment[]): Content {
  const { summary, body: blob } = row;
  const raw = textOf(row['text']) ?? '';
  const stored = withoutPlaceholders(raw);
  const isEmpty = stored.trim() === '';
  const retracted =
    summary instanceof Uint8Array && (isEmpty || row['is_edited'] === 1)
      ? readSummaryInfo(summary).retracted
      : [];
  const hasFiles = row['has_attachments'] === 1 || joined.length > 0;
  const needsBody = isEmpty || row['is_audio'] === 1 || retracted.length > 0 || hasFiles;
  const body = needsBody && blob instanceof Uint8Array ? decodeBody(blob) : undefined;
  const guids = (body?.parts ?? []).flatMap((part) => part.attachmentGuid ?? []);
  const visible = joined.filter(({ isHidden }) => !isHidden).map(({ file }) => file);
  // The file of an unsent part stays joined to its message.
  const kept = retracted.length > 0 ? visible.filter((file) => guids.includes(file.guid)) : visible;
  const isApp = textOf(row['balloon']) !== undefined;
  const expectsAttachments =
    !isApp &&
    (joined.length < Math.max(guids.length, raw.split(ATTACHMENT_PLACEHOLDER).length - 1) ||
      (row['has_attachments'] === 1 && joined.length === 0));
  // A message that has only files is pending too: its body names them.
  const isPending =
    raw === '' &&
    !(blob instanceof Uint8Array) &&
    retracted.length === 0 &&
    row['part_count'] !== 0 &&
    !isApp &&
    (row['tapback_type'] ?? 0) === 0;
  const isUnreadable = isEmpty && blob instanceof Uint8Array && body === undefined;
  return {
    text: isEmpty ? (body?.text ?? '') : stored,
    bodyState: isPending
      ? 'pending'
      : isUnreadable
        ? 'unreadable'
        : isEmpty && body?.recovered === true
          ? 'recovered'
          : 'read',
    transcript: body?.transcript,
    retracted,
    attachments: kept.toSorted((one, other) => guids.indexOf(one.guid) - guids.indexOf(other.guid)),
    expectsAttachments,
  };
}

function dateOf(value: SQLOutputValue | undefined): number | undefined {
  const ms = typeof value === 'number' ? value + MACOS_EPOCH_MS : undefined;
  return ms !== undefined && ms > MACOS_EPOCH_MS && ms < LAST_DATE_MS ? ms : undefined;
}

function readTapback(row: Row): StoredTapback | undefined {
  const type = Number(row['tapback_type'] ?? 0);
  const raw = textOf(row['tapback_target']);
  if (type === 0 || raw === undefined) return undefined;
  return { type, targetRaw: raw, targetGuid: stripTargetPrefix(raw), emoji: textOf(row['tapback_emoji']) };
}
