import type { SQLOutputValue } from 'node:sqlite';

import { Columns } from './columns.ts';
import type { Chat, ServiceName } from './messages.ts';
import type { Statements } from './statements.ts';

type Row = Record<string, SQLOutputValue>;

/** A chat by its row in the store. */
export type ChatRow = Omit<Chat, 'id'> & { readonly rowid: number };

const GROUP_STYLE = 43;
/** In the guid of a group: `iMessage;+;chat123`. */
const GROUP_MARK = ';+;';

const CHAT = {
  guid: { column: 'guid' },
  style: { column: 'style' },
  service_name: { column: 'service_name' },
  identifier: { column: 'chat_identifier' },
} as const;

/** Reads the chats of a store. */
export class Chats {
  readonly #sql: Statements;
  readonly #columns: Columns;

  constructor(sql: Statements) {
    this.#sql = sql;
    this.#columns = new Columns(sql);
  }

  byRowid(rowid: number): ChatRow | undefined {
    const row = this.#sql.of(`${this.#select()} WHERE c.ROWID = ?`).get(rowid);
    return row === undefined ? undefined : this.#read(row);
  }

  /** Returns all chats, oldest first. */
  all(): ChatRow[] {
    return this.#sql
      .of(`${this.#select()} ORDER BY c.ROWID`)
      .all()
      .map((row) => this.#read(row));
  }

  /**
   * Returns the group with exactly these recipients. Several groups can have the same members, for example one per service. A group of
   * `service` wins, then the group with the newest message. Returns `ambiguous` when neither decides.
   */
  group(recipients: readonly string[], service: ServiceName): ChatRow | 'ambiguous' | undefined {
    const wanted = new Set(recipients);
    const groups = this.#withMembers([...wanted]).filter(
      (chat) =>
        chat.isGroup &&
        chat.recipients.length === wanted.size &&
        chat.recipients.every((handle) => wanted.has(handle)),
    );
    const sameService = groups.filter((chat) => chat.services.includes(service));
    const [newest, second] = this.#byActivity(sameService.length > 0 ? sameService : groups);
    if (newest === undefined || second === undefined) return newest?.chat;
    return newest.activity === second.activity ? 'ambiguous' : newest.chat;
  }

  /** Returns the chats with this person alone: chats of the service first, then by their newest message. */
  direct(handle: string, service: ServiceName): ChatRow[] {
    const withPerson = this.#withMembers([handle]).filter((chat) => !chat.isGroup);
    const chats = this.#byActivity(withPerson).map(({ chat }) => chat);
    const ofService = chats.filter((chat) => chat.services.includes(service));
    return [...ofService, ...chats.filter((chat) => !ofService.includes(chat))];
  }

  /** Returns the chats that all of these people are members of. Uses the indexes on handles, not a scan. */
  #withMembers(handles: readonly string[]): ChatRow[] {
    if (handles.length === 0) return [];
    const sql = `${this.#select()} WHERE c.ROWID IN (
        SELECT j.chat_id FROM handle h CROSS JOIN chat_handle_join j ON j.handle_id = h.ROWID
        WHERE h.id IN (${handles.map(() => '?').join(', ')})
        GROUP BY j.chat_id HAVING count(DISTINCT h.id) = ?)
      ORDER BY c.ROWID`;
    return this.#sql
      .of(sql)
      .all(...handles, handles.length)
      .map((row) => this.#read(row));
  }

  #byActivity(chats: readonly ChatRow[]): { chat: ChatRow; activity: number }[] {
    const newest = this.#sql.of('SELECT max(message_id) AS newest FROM chat_message_join WHERE chat_id = ?');
    return chats
      .map((chat) => ({ chat, activity: Number(newest.get(chat.rowid)?.['newest'] ?? 0) }))
      .sort((one, other) => other.activity - one.activity);
  }

  #read(row: Row): ChatRow {
    const rowid = Number(row['rowid']);
    const key = textOf(row['guid']) ?? '';
    const isGroup = row['style'] === null ? key.includes(GROUP_MARK) : row['style'] === GROUP_STYLE;
    const members = this.#sql
      .of(
        `SELECT h.* FROM chat_handle_join j JOIN handle h ON h.ROWID = j.handle_id WHERE j.chat_id = ? ORDER BY j.ROWID`,
      )
      .all(rowid)
      .flatMap((handle) => cleanHandle(handle['id'], handle['uncanonicalized_id']) ?? []);
    const identifier = cleanHandle(row['identifier'], undefined);
    const service = serviceName(row['service_name']);
    return {
      rowid,
      key,
      isGroup,
      // A person can be joined to a chat by several handles, one per service.
      recipients:
        members.length > 0 || isGroup || identifier === undefined ? [...new Set(members)] : [identifier],
      service,
      services: this.#services(rowid, service),
    };
  }

  /** Since macOS 26 a chat can hold messages of several services. */
  #services(rowid: number, service: ServiceName): ServiceName[] {
    if (!this.#sql.hasTable('chat_service')) return [service];
    // The index begins with the service.
    const sql = `SELECT service FROM chat_service WHERE service IN ('iMessage', 'SMS', 'RCS') AND chat = ?`;
    const rows = this.#sql.of(sql).all(rowid);
    return [...new Set([service, ...rows.map((row) => serviceName(row['service']))])];
  }

  #select(): string {
    this.#columns.refresh();
    return `SELECT c.ROWID AS rowid, ${this.#columns.list('chat', 'c', CHAT)} FROM chat c`;
  }
}

/** Returns a handle without the suffix that Messages appends when it filters the sender: `227898(smsft_rm)`. */
export function cleanHandle(
  id: SQLOutputValue | undefined,
  uncanonicalized: SQLOutputValue | undefined,
): string | undefined {
  const handle = textOf(id);
  if (handle === undefined || handle === '') return undefined;
  const suffix = handle.search(/\((?:smsf[tp]|filtered)/i);
  if (suffix === -1) return handle;
  return textOf(uncanonicalized) || handle.slice(0, suffix) || undefined;
}

export function serviceName(value: unknown): ServiceName {
  return value === 'SMS' || value === 'RCS' ? value : 'iMessage';
}

export function textOf(value: SQLOutputValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
