import { chatRowOf } from './chat-ids.ts';
import type { Destination, ExpectedMessage, MessageStore, StoredRow } from './messages.ts';

const BATCH = 200;
/** The search for the rows of a send ends after this many rows. Only a long outage leaves more. */
const MAX_ROWS = 20_000;

/** The own rows that a send may have caused. The owner can send the same text from another device at the same moment. */
export interface SentRows {
  /** Rows with the content of the send in its conversation, oldest first. */
  readonly here: readonly StoredRow[];
  /** Rows with the content of the send in other conversations. */
  readonly elsewhere: readonly StoredRow[];
  /**
   * Rows without content and chat that Messages does not send. macOS 26 writes such a row when it cannot address a group. Empty for a
   * person, because in a direct chat such a row comes from the owner.
   */
  readonly ghosts: readonly StoredRow[];
  /** Whether all rows were read. Otherwise the row of the send may be missing. */
  readonly isComplete: boolean;
}

/** Returns the rows after `since`, a position of the store. Returns undefined when the store was replaced since then. */
export function findSentRows(
  store: MessageStore,
  message: ExpectedMessage,
  destination: Destination,
  since: number,
): SentRows | undefined {
  const rowid = chatRowOf(store.generation(), since);
  if (rowid === undefined) return undefined;
  const { own, isComplete } = ownRowsAfter(store, rowid);
  const joined = own.filter((row) => row.chatId !== undefined && isSameContent(row, message));
  const here = joined.filter((row) => isIn(destination, row, store));
  return {
    here,
    elsewhere: joined.filter((row) => !here.includes(row)),
    ghosts: isGroup(destination, store) ? own.filter((row) => isGhost(row, store)) : [],
    isComplete,
  };
}

/**
 * Whether the store certainly has no own row after `since`. The content is not compared, because Messages can change the text and the
 * file name.
 */
export function hasNoOwnRows(store: MessageStore, since: number): boolean {
  const rowid = chatRowOf(store.generation(), since);
  if (rowid === undefined) return false;
  const { own, isComplete } = ownRowsAfter(store, rowid);
  return isComplete && own.length === 0;
}

function ownRowsAfter(
  store: MessageStore,
  since: number,
): { own: readonly StoredRow[]; isComplete: boolean } {
  const own: StoredRow[] = [];
  let rowid = since;
  for (let read = 0; read < MAX_ROWS; read += BATCH) {
    const rows = store.rowsAfter(rowid, BATCH);
    own.push(...rows.filter((row) => row.fromMe && row.isMessage && row.tapback === undefined));
    rowid = rows.at(-1)?.rowid ?? rowid;
    if (rows.length < BATCH) return { own, isComplete: true };
  }
  return { own, isComplete: false };
}

function isSameContent(row: StoredRow, message: ExpectedMessage): boolean {
  if (row.previewOf !== undefined) return false;
  if (message.kind !== 'text')
    return row.attachments.some((file) => fold(file.name) === fold(message.file.name));
  // A text is sent without files: a row with some is a photo that the owner sent with a caption.
  const isText = row.attachments.length === 0 && !row.expectsAttachments && row.bodyState !== 'pending';
  return isText && fold(row.text) === fold(message.text);
}

/** Whether a row was never sent. A real row also begins without chat and content, but Messages is still sending it. */
function isGhost(row: StoredRow, store: MessageStore): boolean {
  if (row.chatId !== undefined || row.bodyState !== 'pending') return false;
  const state = store.sendState(row.guid);
  return state?.finished === true && !state.sent;
}

function isGroup(destination: Destination, store: MessageStore): boolean {
  if (destination.to === 'chat') return store.chat(destination.chatId)?.isGroup === true;
  return destination.to === 'group';
}

function isIn(destination: Destination, row: StoredRow, store: MessageStore): boolean {
  if (row.chatId === undefined) return false;
  if (destination.to === 'chat' && row.chatId === destination.chatId) return true;
  const chat = store.chat(row.chatId);
  const wanted = membersOf(destination, store);
  return (
    wanted !== undefined &&
    chat?.isGroup === wanted.isGroup &&
    chat.recipients.length === new Set(wanted.people).size &&
    wanted.people.every((handle) => chat.recipients.includes(handle))
  );
}

function membersOf(
  destination: Destination,
  store: MessageStore,
): { people: readonly string[]; isGroup: boolean } | undefined {
  if (destination.to === 'person') return { people: [destination.handle], isGroup: false };
  if (destination.to === 'group') return { people: destination.recipients, isGroup: true };
  // An SMS to a person who is not on iMessage can be in another chat with that person. A group has no such twin.
  const chat = store.chat(destination.chatId);
  return chat?.isGroup === false ? { people: chat.recipients, isGroup: false } : undefined;
}

/**
 * Removes the differences that Messages introduces: smart quotes and dashes, placeholders, line endings, invalid characters,
 * direction marks and emoji variation selectors.
 */
export function fold(text: string): string {
  return text
    .normalize('NFC')
    .replaceAll(/[\u2018\u2019]/g, "'")
    .replaceAll(/[\u201C\u201D]/g, '"')
    .replaceAll(/[-\u2013\u2014]+/g, '-')
    .replaceAll('\u2026', '...')
    .replaceAll(/[\s\uFE0E\uFE0F\uFFFC\uFFFD\p{Cc}\p{Cf}\p{Cs}]/gu, '');
}
