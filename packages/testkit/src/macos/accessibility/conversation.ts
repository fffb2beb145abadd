import type { MessagesApp, NewMessage } from '@footbridge/simulator/messages-app';
import type { ChatMembers } from '@footbridge/simulator/messages-store';

/** A bubble of the transcript: one part of a message. */
export interface Bubble {
  readonly guid: string;
  readonly part: number;
  readonly kind: 'text' | 'photo' | 'link';
  readonly text: string;
  readonly isOwn: boolean;
}

/** A Tapback by its code without the 1000 of a removal. */
export interface Tapback {
  readonly code: number;
  readonly emoji?: string;
}

const REMOVED = 1000;

/** Conversations as the screen shows them. */
export class Conversations {
  readonly #app: MessagesApp;

  constructor(app: MessagesApp) {
    this.#app = app;
  }

  chatOf(guid: string): ChatMembers | undefined {
    return this.#app.written.get(guid)?.chat;
  }

  /** Returns the conversation with exactly these people, or with a group's identifier. */
  find(people: readonly string[]): ChatMembers | undefined {
    const identifier = people.length === 1 ? people[0] : undefined;
    const isWanted = (chat: ChatMembers): boolean =>
      keyOf({ ...chat, members: people }) === keyOf(chat) || this.#identifierOf(chat) === identifier;
    return [...this.#app.written.values()].map(({ chat }) => chat).find(isWanted);
  }

  bubblesOf(chat: ChatMembers): Bubble[] {
    const key = keyOf(chat);
    return [...this.#app.written].flatMap(([guid, message]) => {
      if (keyOf(message.chat) !== key || message.columns?.['associated_message_guid'] !== undefined)
        return [];
      return this.#isUnsent(guid) ? [] : bubblesOf(guid, message);
    });
  }

  ownTapback({ guid, part }: Bubble): Tapback | undefined {
    const row = this.#app.store.db
      .prepare(
        `SELECT associated_message_type AS code, ${this.#emojiColumn()} AS emoji FROM message
         WHERE is_from_me = 1 AND associated_message_guid = ? AND associated_message_type BETWEEN 2000 AND 3999
         ORDER BY ROWID DESC LIMIT 1`,
      )
      .get(`p:${part}/${guid}`);
    const code = Number(row?.['code'] ?? 0);
    if (code < 2000 || code >= 3000) return undefined;
    const emoji = row?.['emoji'];
    return { code, ...(typeof emoji === 'string' && { emoji }) };
  }

  /** A press: removes the Tapback if it is the owner's, and replaces another one. */
  toggle(bubble: Bubble, tapback: Tapback, delayMs: number): void {
    const chat = this.chatOf(bubble.guid);
    if (chat === undefined) return;
    const current = this.ownTapback(bubble);
    const isActive = current?.code === tapback.code && current.emoji === tapback.emoji;
    this.#later(delayMs, () => {
      this.#app.react({
        from: 'me',
        target: bubble.guid,
        part: bubble.part,
        chat,
        code: isActive ? tapback.code + REMOVED : tapback.code,
        ...(tapback.emoji !== undefined && { emoji: tapback.emoji }),
      });
    });
  }

  send(message: NewMessage, delayMs: number): void {
    this.#later(delayMs, () => this.#app.write(message));
  }

  #identifierOf(chat: ChatMembers): string {
    const row = this.#app.store.db
      .prepare('SELECT chat_identifier AS id FROM chat WHERE ROWID = ?')
      .get(this.#app.store.chat(chat));
    return String(row?.['id']);
  }

  #later(delayMs: number, write: () => void): void {
    if (delayMs === 0) write();
    else this.#app.later(delayMs, write);
  }

  #isUnsent(guid: string): boolean {
    const row = this.#app.store.db.prepare('SELECT part_count FROM message WHERE guid = ?').get(guid);
    return row === undefined || row['part_count'] === 0;
  }

  #emojiColumn(): string {
    return this.#app.store.macos >= 15 ? 'associated_message_emoji' : 'NULL';
  }
}

function bubblesOf(guid: string, { from, text = '', attachments = [], linkPreview }: NewMessage): Bubble[] {
  const isOwn = from === 'me';
  const photos = attachments.map((_, part): Bubble => ({ guid, part, kind: 'photo', text: '', isOwn }));
  if (text === '') return photos;
  const kind = linkPreview === true ? 'link' : 'text';
  return [...photos, { guid, part: photos.length, kind, text, isOwn }];
}

function keyOf({ members, service }: ChatMembers): string {
  return `${[...members].sort().join(',')} ${service}`;
}
