import type { ClassicType } from '@footbridge/protocol/metadata';

import type { Clock } from '../../clock.ts';
import { findEffect } from './effects.ts';
import { Impossible } from './impossible.ts';
import type { ServiceName, StoredRow } from './messages.ts';
import type { NewAttachment, SimulatedStore } from './simulated-store.ts';
import { tapbackText } from './tapback-texts.ts';
import type { TapbackLocale } from './tapback-texts.ts';
import { readTapbackCode } from './tapbacks.ts';

export interface FileGiven {
  readonly name: string;
  readonly mime: string;
  readonly bytes: Uint8Array;
  /** How long the file is on its way after its message. */
  readonly delayMs?: number;
}

export interface Saying {
  readonly text?: string;
  readonly chatId?: number;
  readonly service?: ServiceName;
  readonly effect?: string;
  readonly replyTo?: string;
  readonly attachments?: readonly FileGiven[];
  readonly voice?: FileGiven & { readonly durationMs: number };
}

export type Reacting = {
  readonly targetGuid: string;
  readonly action: 'add' | 'remove';
  readonly locale?: TapbackLocale;
} & (
  | { readonly kind: 'classic'; readonly type: ClassicType }
  | { readonly kind: 'emoji'; readonly emoji: string }
  | { readonly kind: 'sticker'; readonly sticker?: FileGiven }
);

/** The people on the other side: what they do ends in the store as it would on a real Mac. */
export class SimulatedPeople {
  readonly #store: SimulatedStore;
  readonly #changed: () => void;
  readonly #clock: Clock;
  readonly #closing = new AbortController();

  constructor(store: SimulatedStore, clock: Clock, changed: () => void) {
    this.#store = store;
    this.#clock = clock;
    this.#changed = changed;
  }

  say(handle: string, saying: Saying): { guid: string; chatId: number } {
    const service = saying.service ?? 'iMessage';
    const chatId = this.#chatOf(handle, saying.chatId, service);
    const effect = saying.effect === undefined ? undefined : findEffect(saying.effect);
    if (saying.effect !== undefined && effect === undefined) throw new Impossible('no such effect');
    if (saying.replyTo !== undefined && this.#store.chats.rowOf(saying.replyTo) === undefined) {
      throw new Impossible('replyTo names no message of this world');
    }
    const files = (saying.attachments ?? []).map((file): NewAttachment => arriving(file));
    const { voice } = saying;
    if (voice !== undefined) files.push({ ...arriving(voice), durationMs: voice.durationMs });
    if ((saying.text ?? '') === '' && files.length === 0) throw new Impossible('nothing to say');
    const guid = this.#store.insert({
      chatId,
      from: handle,
      service: this.#store.chats.chat(chatId)?.service ?? service,
      text: saying.text ?? '',
      finished: true,
      voice: voice !== undefined,
      attachments: files,
      effect: effect?.id,
      replyTo: saying.replyTo,
    });
    void this.#arriveLater(guid, [...(saying.attachments ?? []), ...(voice === undefined ? [] : [voice])]);
    this.#changed();
    return { guid, chatId };
  }

  react(handle: string, reacting: Reacting): { guid: string } {
    const target = this.#store.chats.rowOf(reacting.targetGuid);
    if (target?.chatId === undefined || target.tapback !== undefined) {
      throw new Impossible('targetGuid names no message of this world');
    }
    this.#mustBeIn(target.chatId, handle);
    if (reacting.action === 'remove' && !this.#hasReaction(target, handle, reacting)) {
      throw new Impossible('this person has no such reaction on that message');
    }
    const text = tapbackText(reacting, reacting.action, target.text, reacting.locale ?? 'en');
    const guid = this.#landReaction(handle, reacting, target, target.chatId, text);
    this.#changed();
    return { guid };
  }

  sticker(handle: string, file: FileGiven, chat?: number): { guid: string; chatId: number } {
    const chatId = this.#chatOf(handle, chat, 'iMessage');
    const service = this.#store.chats.chat(chatId)?.service ?? 'iMessage';
    const attachments = [{ ...arriving(file), sticker: true }];
    const guid = this.#store.insert({ chatId, from: handle, service, text: '', finished: true, attachments });
    void this.#arriveLater(guid, [file]);
    this.#changed();
    return { guid, chatId };
  }

  edit(handle: string, guid: string, text: string): void {
    this.#mustBeOwn(handle, guid);
    this.#store.edit(guid, text);
    this.#changed();
  }

  unsend(handle: string, guid: string): void {
    this.#mustBeOwn(handle, guid);
    this.#store.unsend(guid);
    this.#changed();
  }

  leave(handle: string, chatId: number): void {
    this.#mustBeIn(chatId, handle);
    const chat = this.#store.chats.chat(chatId);
    if (chat?.isGroup !== true) throw new Impossible('only groups can be left');
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
    if (others.length < 2) throw new Impossible('a group needs at least two people besides the Mac');
    return { chatId: this.#store.chats.groupOf(others)?.id ?? this.#store.group(others, service) };
  }

  /** Whether this person's number is known to iMessage. */
  change(handle: string, change: { readonly imessage: boolean }): void {
    this.#store.setIMessage(handle, change.imessage);
  }

  close(): void {
    this.#closing.abort();
  }

  #landReaction(handle: string, reacting: Reacting, target: StoredRow, chatId: number, text: string): string {
    // SMS knows no reactions, and macOS before 15 none but the six: there they arrive as a sentence.
    const readable = reacting.kind === 'classic' || this.#store.macosMajor >= 15;
    if (target.service !== 'iMessage' || !readable) {
      return this.#store.insert({ chatId, from: handle, service: target.service, text, finished: true });
    }
    const sticker =
      reacting.kind === 'sticker' && reacting.sticker !== undefined
        ? { ...arriving(reacting.sticker), sticker: true }
        : undefined;
    return this.#store.tapback(
      chatId,
      handle,
      target.guid,
      reacting,
      reacting.action,
      text,
      target.service,
      sticker,
    );
  }

  #hasReaction(target: StoredRow, handle: string, reacting: Reacting): boolean {
    const rows = this.#store.chats.rowsOf(target.chatId ?? 0);
    const newest = rows.findLast(
      (row) => row.tapback?.targetGuid === target.guid && !row.fromMe && row.sender === handle,
    );
    const present = newest?.tapback === undefined ? undefined : readTapbackCode(newest.tapback.type);
    if (present?.action !== 'add') {
      // Where reactions are sentences nobody keeps count.
      return target.service !== 'iMessage' || (reacting.kind !== 'classic' && this.#store.macosMajor < 15);
    }
    if (reacting.kind === 'classic') return present.kind === 'classic' && present.type === reacting.type;
    return present.kind === reacting.kind;
  }

  #chatOf(handle: string, chatId: number | undefined, service: ServiceName): number {
    if (chatId === undefined) return this.#store.directChat(handle, service);
    this.#mustBeIn(chatId, handle);
    return chatId;
  }

  #mustBeIn(chatId: number, handle: string): void {
    const chat = this.#store.chats.chat(chatId);
    if (chat === undefined) throw new Impossible(`there is no chat ${chatId}`);
    if (!chat.recipients.includes(handle)) throw new Impossible(`this person is not in chat ${chatId}`);
  }

  #mustBeOwn(handle: string, guid: string): void {
    const row = this.#store.chats.rowOf(guid);
    if (row === undefined || row.fromMe || row.sender !== handle)
      throw new Impossible('this person wrote no such message');
  }

  async #arriveLater(guid: string, files: readonly FileGiven[]): Promise<void> {
    const delay = Math.max(0, ...files.map((file) => file.delayMs ?? 0));
    if (delay === 0) return;
    const { signal } = this.#closing;
    await this.#clock.sleep(delay, signal);
    if (signal.aborted) return;
    this.#store.arrive(guid);
    this.#changed();
  }
}

function arriving(file: FileGiven): NewAttachment {
  return { name: file.name, mime: file.mime, bytes: file.bytes, late: (file.delayMs ?? 0) > 0 };
}
