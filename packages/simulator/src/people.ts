import { findEffect } from '@footbridge/protocol/effects';
import { readTapbackCode, tapbackCode } from '@footbridge/protocol/tapbacks';

import { StoredConversations } from './stored-conversations.ts';
import type { SimulatedRow } from './stored-conversations.ts';
import type { MessagesApp, NewMessage } from './messages-app.ts';
import { GROUP_STYLE } from './messages-store.ts';
import type { NewAttachment } from './messages-store.ts';
import { SimulationError } from './simulation.ts';
import type {
  ChatIds,
  People,
  PersonMessage,
  PersonReaction,
  ServiceName,
  SimulatedFile,
} from './simulation.ts';
import { tapbackText } from './tapback-texts.ts';

const PARTICIPANT_LEFT = 3;

/** Writes what people do to the store of a simulated Messages, as it would appear on a real Mac. */
export class SimulatedPeople implements People {
  readonly #app: MessagesApp;
  readonly #ids: ChatIds;
  readonly #conversations: StoredConversations;

  constructor(app: MessagesApp, ids: ChatIds) {
    this.#app = app;
    this.#ids = ids;
    this.#conversations = new StoredConversations(app);
  }

  say(handle: string, message: PersonMessage): { guid: string; chatId: number } {
    const { text = '', service = 'iMessage', voice, replyTo } = message;
    const effect = message.effect === undefined ? undefined : findEffect(message.effect);
    if (message.effect !== undefined && effect === undefined)
      throw new SimulationError('there is no such effect');
    if (replyTo !== undefined && this.#conversations.message(replyTo) === undefined)
      throw new SimulationError('no message has the guid given as replyTo');
    const files = [...(message.attachments ?? []), ...(voice === undefined ? [] : [voice])];
    if (text === '' && files.length === 0)
      throw new SimulationError('nothing to say: give a text, an attachment or a voice message');
    return this.#write(handle, this.#chatOf(handle, message.chatId, service), files, {
      text,
      columns: {
        expressive_send_style_id: effect?.id ?? null,
        is_audio_message: voice === undefined ? 0 : 1,
        thread_originator_guid: replyTo ?? null,
        thread_originator_part: replyTo === undefined ? null : `0:0:${text.length}`,
      },
    });
  }

  hear(handle: string, text: string): { guid: string; chatId: number } {
    // Written on a phone: this Mac gets no receipt.
    return this.#write('me', this.#app.store.directChat(handle, 'iMessage'), [], { text, receipts: 'sent' });
  }

  react(handle: string, reaction: PersonReaction): { guid: string } {
    const target = this.#conversations.message(reaction.targetGuid);
    if (target === undefined || target.tapback !== undefined)
      throw new SimulationError('no message has the given targetGuid');
    this.#requireMember(target.chatRowid, handle);
    if (reaction.action === 'remove' && !this.#hasReaction(target, handle, reaction))
      throw new SimulationError('this person has no such reaction on that message');
    const text = tapbackText(reaction, reaction.action, target.text, reaction.locale ?? 'en');
    if (!this.#isTapback(target, reaction)) {
      const { guid } = this.#write(handle, target.chatRowid, [], { text });
      return { guid };
    }
    const { guid } = this.#app.react({
      from: handle,
      chatRowid: target.chatRowid,
      service: target.service,
      target: target.guid,
      code: tapbackCode(reaction, reaction.action),
      text,
      ...(reaction.kind === 'emoji' && { emoji: reaction.emoji }),
      ...(reaction.kind === 'sticker' &&
        reaction.sticker !== undefined && { attachments: [stickerOf(reaction.sticker)] }),
    });
    return { guid };
  }

  sticker(handle: string, file: SimulatedFile, chatId?: number): { guid: string; chatId: number } {
    return this.#write(handle, this.#chatOf(handle, chatId, 'iMessage'), [stickerOf(file)]);
  }

  edit(handle: string, guid: string, text: string): void {
    this.#requireSender(handle, guid);
    this.#app.edit(guid, text);
  }

  unsend(handle: string, guid: string): void {
    this.#requireSender(handle, guid);
    this.#app.unsend(guid);
  }

  leave(handle: string, chatId: number): void {
    const chat = this.#rowOf(chatId);
    this.#requireMember(chat, handle);
    const { style } = this.#app.store.chatRow(chat) ?? {};
    if (style !== GROUP_STYLE) throw new SimulationError('only groups can be left');
    this.#write(handle, chat, [], { bodyForm: 'none', columns: { item_type: PARTICIPANT_LEFT } });
    this.#app.store.leave(chat, handle);
  }

  group(recipients: readonly string[], service: ServiceName = 'iMessage'): { chatId: number } {
    const members = [...new Set(recipients)];
    if (members.length < 2) throw new SimulationError('a group needs at least two recipients');
    return { chatId: this.#ids.idOf(this.#app.store.chat({ members, service })) };
  }

  change(handle: string, change: { readonly imessage: boolean }): void {
    this.#app.store.setIMessage(handle, change.imessage);
  }

  #write(
    from: string,
    chatRowid: number,
    files: readonly (SimulatedFile & Partial<NewAttachment>)[],
    message: Partial<NewMessage> = {},
  ): { guid: string; chatId: number } {
    const { guid } = this.#app.write({
      from,
      chatRowid,
      attachments: files,
      ...message,
    });
    return { guid, chatId: this.#ids.idOf(chatRowid) };
  }

  /** SMS has no reactions, and macOS before 15 only the six classic ones. All others arrive as text. */
  #isTapback({ service }: SimulatedRow, { kind }: PersonReaction): boolean {
    return service === 'iMessage' && (kind === 'classic' || this.#app.store.macos >= 15);
  }

  #hasReaction(target: SimulatedRow, handle: string, reaction: PersonReaction): boolean {
    // Reactions that arrive as text leave no state to check.
    if (!this.#isTapback(target, reaction)) return true;
    const newest = this.#conversations
      .messagesOf(target.chatRowid)
      .findLast(({ from, tapback }) => from === handle && tapback?.target.endsWith(target.guid) === true);
    const present = readTapbackCode(newest?.tapback?.code ?? 0);
    if (present?.action !== 'add') return false;
    if (reaction.kind === 'classic') return present.kind === 'classic' && present.type === reaction.type;
    return present.kind === reaction.kind;
  }

  #chatOf(handle: string, chatId: number | undefined, service: ServiceName): number {
    if (chatId === undefined) return this.#app.store.directChat(handle, service);
    const chat = this.#rowOf(chatId);
    this.#requireMember(chat, handle);
    return chat;
  }

  #rowOf(chatId: number): number {
    const rowid = this.#ids.rowOf(chatId);
    if (rowid === undefined || this.#app.store.chatRow(rowid) === undefined)
      throw new SimulationError(`there is no chat ${chatId}`);
    return rowid;
  }

  #requireMember(chatRowid: number, handle: string): void {
    if (this.#app.store.chatRow(chatRowid)?.members.includes(handle) === true) return;
    throw new SimulationError(`this person is not in chat ${this.#ids.idOf(chatRowid)}`);
  }

  #requireSender(handle: string, guid: string): void {
    if (this.#conversations.message(guid)?.from !== handle || handle === 'me')
      throw new SimulationError('this person did not write that message');
  }
}

function stickerOf(file: SimulatedFile): SimulatedFile & Partial<NewAttachment> {
  return { ...file, columns: { is_sticker: 1 } };
}
