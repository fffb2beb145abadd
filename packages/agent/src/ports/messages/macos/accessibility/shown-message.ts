import { LINK_PREVIEW } from '../../messages.ts';
import type { Chat, MessageStore, StoredRow } from '../../messages.ts';
import type { ShownMessage } from '../programs/screen-lines.ts';

/** The parts of the store that the screen actions read. */
export interface ScreenStore extends MessageStore {
  newestRows(chatId: number, limit: number): StoredRow[];
}

export interface ShownPart {
  readonly message: ShownMessage;
  /** The place of the part among the bubbles of the message. */
  readonly part: number;
}

const RECENT_ROWS = 50;
const LINK = /https?:\/\//i;

/**
 * Returns how Messages must show a message, by which a program recognises its bubble. Returns undefined when the message has no bubble, or
 * lacks the wanted part.
 */
export function shownPart(store: ScreenStore, row: StoredRow, part = 0): ShownPart | undefined {
  if (!hasBubble(row)) return undefined;
  const bubbles = bubblesOf(store, row);
  const place = bubbles.findIndex(({ index }) => index === part);
  const chat = row.chatId === undefined ? undefined : store.chat(row.chatId);
  if (place < 0 || chat === undefined) return undefined;
  const other = otherMessage(store, row);
  const parts = bubbles.map(({ shown }) => shown);
  const elsewhere = other === undefined ? linkToChat(chat) : `message-guid=${encodeURIComponent(other.guid)}`;
  return { message: { guid: row.guid, parts, elsewhere }, part: place };
}

/** Returns the newest message of a chat, whose bubble proves that Messages shows the chat. */
export function newestMessage(store: ScreenStore, chatId: number): ShownMessage | undefined {
  const row = store.newestRows(chatId, RECENT_ROWS).find(hasBubble);
  return row === undefined ? undefined : shownPart(store, row)?.message;
}

function hasBubble(row: StoredRow): boolean {
  return (
    row.isMessage &&
    !row.unsent &&
    row.tapback === undefined &&
    (row.bodyState === 'read' || row.attachments.length > 0)
  );
}

type Shown = ShownMessage['parts'][number];

function bubblesOf(store: MessageStore, row: StoredRow): { index: number; shown: Shown }[] {
  if (row.balloon !== undefined) {
    const isLink = row.balloon === LINK_PREVIEW;
    return [{ index: 0, shown: isLink ? { text: row.text, isLink } : {} }];
  }
  const parts = store.body(row.guid)?.parts ?? [];
  if (parts.length === 0) return [{ index: 0, shown: row.text === '' ? {} : shownText(row.text) }];
  return parts.map(({ index, text, attachmentGuid }) => ({
    index,
    shown: attachmentGuid === undefined ? shownText(text) : {},
  }));
}

const shownText = (text: string): Shown => (LINK.test(text) ? { text, isLink: true } : { text });

/** The link to a chat as a whole, which selects no message. */
function linkToChat({ key, isGroup }: Chat): string {
  const identifier = encodeURIComponent(key.slice(key.lastIndexOf(';') + 1));
  return isGroup ? `groupid=${identifier}` : `address=${identifier}`;
}

/** Returns a message of the same chat that cannot be mistaken for this message. */
function otherMessage(store: ScreenStore, row: StoredRow): StoredRow | undefined {
  if (row.chatId === undefined) return undefined;
  return store
    .newestRows(row.chatId, RECENT_ROWS)
    .find(
      (other) =>
        other.guid !== row.guid &&
        hasBubble(other) &&
        other.balloon === undefined &&
        other.attachments.length === 0 &&
        other.text.trim() !== row.text.trim() &&
        !LINK.test(other.text),
    );
}
