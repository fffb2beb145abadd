import { chatRowOf } from './chat-ids.ts';
import type { Destination, MessageStore, OutgoingMessage, SendResult, StoredRow } from './messages.ts';

const BATCH = 200;
/** After an outage with more messages than this the outcome stays unknown. */
const MAX_ROWS = 20_000;
const NOT_ON_IMESSAGE = 22;

/**
 * Looks in the store for the outcome of a send that was interrupted after `since`, a position of the store. The newest own row
 * with this content in this conversation is the one, since the agent sends one message at a time. Without such a row the outcome
 * stays unknown: Messages may still be about to store it.
 */
export function findOutcome(
  store: MessageStore,
  message: OutgoingMessage,
  destination: Destination,
  since: number,
): SendResult {
  const rowid = chatRowOf(store.generation(), since);
  if (rowid === undefined) return unknown('the message store was replaced during the send');
  const rows = ownRowsAfter(store, rowid).filter(
    (row) => isSameContent(row, message) && isIn(destination, row, store),
  );
  const states = rows.flatMap((row) => store.sendState(row.guid) ?? []);
  const sent = states.find((state) => state.sent && state.error === 0);
  if (sent !== undefined) return { result: 'sent', guid: sent.guid };
  const [failure] = states;
  if (failure === undefined) return unknown('the message store does not show the message');
  if (states.some((state) => !state.finished || state.error === 0))
    return unknown('Messages is still sending');
  return {
    result: 'failed',
    code: 'IMESSAGE_ERROR',
    message: `error ${failure.error}: Messages did not send the message`,
    ...(failure.error === NOT_ON_IMESSAGE ? { notOnIMessage: true } : {}),
  };
}

function ownRowsAfter(store: MessageStore, since: number): StoredRow[] {
  const own: StoredRow[] = [];
  let rowid = since;
  for (let read = 0; read < MAX_ROWS; read += BATCH) {
    const rows = store.rowsAfter(rowid, BATCH);
    own.push(...rows.filter((row) => row.fromMe && row.isMessage && row.tapback === undefined));
    rowid = rows.at(-1)?.rowid ?? rowid;
    if (rows.length < BATCH) break;
  }
  return own;
}

function isSameContent(row: StoredRow, message: OutgoingMessage): boolean {
  if (message.kind === 'text') return fold(row.text) === fold(message.text);
  return row.attachments.some((file) => file.name === message.file.name);
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
  // The SMS to a person who is not on iMessage can be in a chat of its own. A group has no such twin.
  const chat = store.chat(destination.chatId);
  return chat?.isGroup === false ? { people: chat.recipients, isGroup: false } : undefined;
}

/** Removes the differences that Messages makes: smart quotes and dashes, placeholders, space at the ends. */
function fold(text: string): string {
  return text
    .normalize('NFC')
    .replaceAll(/[\u2018\u2019]/g, "'")
    .replaceAll(/[\u201C\u201D]/g, '"')
    .replaceAll(/\u2013|\u2014|--/g, '-')
    .replaceAll('\u2026', '...')
    .replaceAll(/[\uFFFC\uFFFD]/g, '')
    .replaceAll('\r\n', '\n')
    .trim();
}

function unknown(reason: string): SendResult {
  return { result: 'unknown', code: 'TIMEOUT', message: `outcome unknown: ${reason}` };
}
