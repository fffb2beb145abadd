/** More chats than any store has, and small enough for 2 million generations in a safe integer. */
const ROWS = 2 ** 32;

/** Returns the id of a chat: its row in the store of one generation. Ids of two generations are never equal (M11). */
export function chatIdOf(generation: number, rowid: number): number {
  return generation * ROWS + rowid;
}

/** Returns the row of a chat, or undefined when the id is from another generation. */
export function chatRowOf(generation: number, chatId: number): number | undefined {
  return Math.floor(chatId / ROWS) === generation ? chatId % ROWS : undefined;
}
