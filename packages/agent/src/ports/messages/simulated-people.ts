import type { Clock } from '@footbridge/runtime/clock';

import { findEffect } from './effects.ts';
import type { ServiceName, StoredRow } from './messages.ts';
import type { NewAttachment, SimulatedStore } from './simulated-store.ts';
import { SimulationError } from './simulation.ts';
import type { People, PersonMessage, PersonReaction, SimulatedFile } from './simulation.ts';
import { tapbackText } from './tapback-texts.ts';
import { readTapbackCode } from './tapbacks.ts';

/** Writes the actions of people to the store, as they would appear on a real Mac. */
export class SimulatedPeople implements People {
  readonly #store: SimulatedStore;
  readonly #changed: () => void;
  readonly #clock: Clock;
  readonly #closing = new AbortController();

  constructor(store: SimulatedStore, clock: Clock, changed: () => void) {
    this.#store = store;
    this.#clock = clock;
    this.#changed = changed;
  }

  say(handle: string, message: PersonMessage): { guid: string; chatId: number } {
    const service = message.service ?? 'iMessage';
    const chatId = this.#chatOf(handle, message.chatId, service);
    const effect = message.effect === undefined ? undefined : findEffect(message.effect);
    if (message.effect !== undefined && effect === undefined)
      throw new SimulationError('there is no such effect');
    if (message.replyTo !== undefined && this.#store.chats.rowByGuid(message.replyTo) === undefined) {
      throw new SimulationError('no message has the guid given as replyTo');
    }
    const files = (message.attachments ?? []).map((file): NewAttachment => toAttachment(file));
    const { voice } = message;
    if (voice !== undefined) files.push({ ...toAttachment(voice), durationMs: voice.durationMs });
    if ((message.text ?? '') === '' && files.length === 0)
      throw new SimulationError('nothing to say: give a text, an attachment or a voice message');
    const guid = this.#store.insert({
      chatId,
      from: handle,
      service: this.#store.chats.chat(chatId)?.service ?? service,
      text: message.text ?? '',
      finished: true,
      voice: voice !== undefined,
      attachments: files,
      effect: effect?.id,
      replyTo: message.replyTo,
    });
    void this.#finishTransferLater(guid, [
      ...(message.attachments ?? []),
      ...(voice === undefined ? [] : [voice]),
    ]);
    this.#changed();
    return { guid, chatId };
  }

  hear(handle: string, text: string): { guid: string; chatId: number } {
    const chatId = this.#store.directChat(handle, 'iMessage');
    const service = this.#store.chats.chat(chatId)?.service ?? 'iMessage';
    const guid = this.#store.insert({ chatId, from: 'me', service, text, finished: true });
    this.#changed();
    return { guid, chatId };
  }

  react(handle: string, reaction: PersonReaction): { guid: string } {
    const target = this.#store.chats.rowByGuid(reaction.targetGuid);
    if (target?.chatId === undefined || target.tapback !== undefined) {
      throw new SimulationError('no message has the given targetGuid');
    }
    this.#requireMember(target.chatId, handle);
    if (reaction.action === 'remove' && !this.#hasReaction(target, handle, reaction)) {
      throw new SimulationError('this person has no such reaction on that message');
    }
    const text = tapbackText(reaction, reaction.action, target.text, reaction.locale ?? 'en');
    const guid = this.#insertReaction(handle, reaction, target, target.chatId, text);
    this.#changed();
    return { guid };
  }

  sticker(handle: string, file: SimulatedFile, chat?: number): { guid: string; chatId: number } {
    const chatId = this.#chatOf(handle, chat, 'iMessage');
    const service = this.#store.chats.chat(chatId)?.service ?? 'iMessage';
    const attachments = [{ ...toAttachment(file), sticker: true }];
    const guid = this.#store.insert({ chatId, from: handle, service, text: '', finished: true, attachments });
    void this.#finishTransferLater(guid, [file]);
    this.#changed();
    return { guid, chatId };
  }

  edit(handle: string, guid: string, text: string): void {
    this.#requireSender(handle, guid);
    this.#store.edit(guid, text);
    this.#changed();
  }

  unsend(handle: string, guid: string): void {
    this.#requireSender(handle, guid);
    this.#store.unsend(guid);
    this.#changed();
  }

  leave(handle: string, chatId: number): void {
    this.#requireMember(chatId, handle);
    const chat = this.#store.chats.chat(chatId);
    if (chat?.isGroup !== true) throw new SimulationError('only groups can be left');
    this.#store.insert({
      chatId,
      from: handle,
      service: chat.service,
      text: '',
      finished: true,
      event: { itemType: 3, action: 0 },
    });
    this.#store.leave(chatId, handle);
    this.#changed();
  }

  group(recipients: readonly string[], service: ServiceName = 'iMessage'): { chatId: number } {
    const others = [...new Set(recipients)];
    if (others.length < 2) throw new SimulationError('a group needs at least two recipients');
    const known = this.#store.chats.groupOf(others, service);
    return { chatId: typeof known === 'object' ? known.id : this.#store.group(others, service) };
  }

  change(handle: string, change: { readonly imessage: boolean }): void {
    this.#store.setIMessage(handle, change.imessage);
  }

  close(): void {
    this.#closing.abort();
  }

  #insertReaction(
    handle: string,
    reaction: PersonReaction,
    target: StoredRow,
    chatId: number,
    text: string,
  ): string {
    // SMS has no reactions and macOS before 15 only the six classic ones. All others arrive as text.
    const isTapback = reaction.kind === 'classic' || this.#store.macosMajor >= 15;
    if (target.service !== 'iMessage' || !isTapback) {
      return this.#store.insert({ chatId, from: handle, service: target.service, text, finished: true });
    }
    const sticker =
      reaction.kind === 'sticker' && reaction.sticker !== undefined
        ? { ...toAttachment(reaction.sticker), sticker: true }
        : undefined;
    return this.#store.tapback(
      chatId,
      handle,
      target.guid,
      reaction,
      reaction.action,
      text,
      target.service,
      sticker,
    );
  }

  #hasReaction(target: StoredRow, handle: string, reaction: PersonReaction): boolean {
    const rows = this.#store.chats.rowsOf(target.chatId ?? 0);
    const newest = rows.findLast(
      (row) => row.tapback?.targetGuid === target.guid && !row.fromMe && row.sender === handle,
    );
    const present = newest?.tapback === undefined ? undefined : readTapbackCode(newest.tapback.type);
    if (present?.action !== 'add') {
      // Reactions that arrive as text leave no state to check.
      return target.service !== 'iMessage' || (reaction.kind !== 'classic' && this.#store.macosMajor < 15);
    }
    if (reaction.kind === 'classic') return present.kind === 'classic' && present.type === reaction.type;
    return present.kind === reaction.kind;
  }

  #chatOf(handle: string, chatId: number | undefined, service: ServiceName): number {
    if (chatId === undefined) return this.#store.directChat(handle, service);
    this.#requireMember(chatId, handle);
    return chatId;
  }

  #requireMember(chatId: number, handle: string): void {
    const chat = this.#store.chats.chat(chatId);
    if (chat === undefined) throw new SimulationError(`there is no chat ${chatId}`);
    if (!chat.recipients.includes(handle)) throw new SimulationError(`this person is not in chat ${chatId}`);
  }

  #requireSender(handle: string, guid: string): void {
    const row = this.#store.chats.rowByGuid(guid);
    if (row === undefined || row.fromMe || row.sender !== handle)
      throw new SimulationError('this person did not write that message');
  }

  async #finishTransferLater(guid: string, files: readonly SimulatedFile[]): Promise<void> {
    const delay = Math.max(0, ...files.map((file) => file.delayMs ?? 0));
    if (delay === 0) return;
    const { signal } = this.#closing;
    await this.#clock.sleep(delay, signal);
    if (signal.aborted) return;
    this.#store.finishTransfers(guid);
    this.#changed();
  }
}

function toAttachment(file: SimulatedFile): NewAttachment {
  return { name: file.name, mime: file.mime, bytes: file.bytes, late: (file.delayMs ?? 0) > 0 };
}
