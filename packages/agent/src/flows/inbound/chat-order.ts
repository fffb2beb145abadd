import type { Chat } from '../../ports/messages/messages.ts';

/**
 * Keeps the order within chats while the chat of an earlier row is unknown, because Messages inserts a row before it joins the row to a
 * chat. Until then the row may belong to any chat of its sender, and later rows of those chats must not overtake it (I5).
 */
export class ChatOrder {
  readonly #chats = new Set<string>();
  readonly #senders = new Set<string>();
  #holdsAll = false;

  /** Holds back every chat that a row of this sender may belong to. */
  holdSender(sender: string | undefined): void {
    if (sender === undefined) this.#holdsAll = true;
    else this.#senders.add(sender);
  }

  holdChat(chat: Chat): void {
    this.#chats.add(chat.key);
  }

  isHeld(chat: Chat): boolean {
    if (this.#holdsAll || this.#chats.has(chat.key)) return true;
    // The members of a new chat can be stored after its first message.
    if (chat.recipients.length === 0) return this.#senders.size > 0;
    return chat.recipients.some((recipient) => this.#senders.has(recipient));
  }
}
