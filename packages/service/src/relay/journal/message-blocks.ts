const DAY_MS = 86_400_000;
/** With larger blocks, each message changes more pages of an index. With more blocks, a search for a person or a GUID takes longer. */
const BLOCK_SIZE = 1024;
/** On a day with more messages than these blocks hold, the last block contains the rest. */
const BLOCKS_PER_DAY = 10_000;

/** Returns the block of the `nth` message of a day. */
export const blockOf = (createdAt: number, nth: number): number =>
  Math.floor(createdAt / DAY_MS) * BLOCKS_PER_DAY +
  Math.min(Math.floor(nth / BLOCK_SIZE), BLOCKS_PER_DAY - 1);

/**
 * Assigns messages to blocks of about a thousand in the order in which they are written. After a restart, blocks begin again at the first
 * block of the day, which then becomes larger.
 */
export class MessageBlocks {
  #first = 0;
  #written = 0;

  /** Returns the block for the next messages. The time decides the day. */
  blockAt(createdAt: number): number {
    const first = blockOf(createdAt, 0);
    if (first !== this.#first) this.#written = 0;
    this.#first = first;
    return blockOf(createdAt, this.#written);
  }

  written(messages: number): void {
    this.#written += messages;
  }
}
