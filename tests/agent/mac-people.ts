import { DatabaseSync } from 'node:sqlite';

import type { SimulatedBlueBubbles } from '@footbridge/testkit/bluebubbles';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { encodeBody } from '@footbridge/simulator/typed-stream';

import type { ChatDb } from '@footbridge/agent/ports/messages/chat-db';
import { chatIdOf } from '@footbridge/agent/ports/messages/chat-ids';
import { EFFECTS } from '@footbridge/agent/ports/messages/effects';
import type { Chat, StoredRow } from '@footbridge/agent/ports/messages/messages';
import { viewChats } from '@footbridge/agent/ports/messages/simulated-view';
import type {
  MessageView,
  PersonReaction,
  SimulationView,
} from '@footbridge/agent/ports/messages/simulation';
import { tapbackText } from '@footbridge/agent/ports/messages/tapback-texts';
import { tapbackCode } from '@footbridge/agent/ports/messages/tapbacks';
import { readChatDb } from '@footbridge/agent/ports/messages/real-chat-db.fixture';

interface SaidFile {
  readonly name: string;
  readonly mime: string;
  readonly base64: string;
  /** The file comes when files are released. */
  readonly delayMs?: number;
}

interface Said {
  readonly text?: string;
  readonly chatId?: number;
  readonly service?: string;
  readonly effect?: string;
  readonly replyTo?: string;
  readonly attachments?: readonly SaidFile[];
  readonly voice?: SaidFile;
}

type Reaction = PersonReaction & { readonly sticker?: SaidFile };

const ACTION = /^\/people\/([^/]+)(?:\/(\w+))?$/;
const PARTICIPANT_LEFT = 3;
const NOT_ON_IMESSAGE = 22;
/** The binary property list `{ rp: [0] }`: the first part was unsent. */
const RETRACTED = Buffer.concat([
  Buffer.from('bplist00'),
  Buffer.from('d10102527270a1031000080b0e10', 'hex'),
  Buffer.from(`${'00'.repeat(6)}0101${'00'.repeat(7)}04${'00'.repeat(8)}${'00'.repeat(7)}12`, 'hex'),
]).toString('base64');

/**
 * The people and chats of a simulated macOS, with the calls of the simulator's control port that a Mac can carry out. What people
 * write is complete when the call returns, except for files that are late.
 */
export class MacPeople {
  readonly #macos: SimulatedMacos;
  readonly #server: SimulatedBlueBubbles | undefined;

  constructor(macos: SimulatedMacos, server?: SimulatedBlueBubbles) {
    this.#macos = macos;
    this.#server = server;
  }

  async play(path: string, body: object): Promise<object> {
    if (path === '/groups') return this.#group(body as { recipients: string[] });
    const [, handle, verb = 'change'] = ACTION.exec(path) ?? [];
    const actions: Readonly<Record<string, (person: string) => Promise<object>>> = {
      say: (person) => this.#say(person, body),
      hear: (person) => this.#hear(person, body as { text: string }),
      react: (person) => this.#react(person, body as Reaction),
      sticker: (person) => this.#sticker(person, body as SaidFile),
      edit: () => this.#edit(body as { guid: string; text: string }),
      unsend: () => this.#unsend(body as { guid: string }),
      leave: (person) => this.#leave(person, body as { chatId: number }),
      change: (person) => this.#change(person, body as { imessage: boolean }),
    };
    const action = actions[verb];
    if (handle === undefined || action === undefined)
      throw new Error(`A simulated macOS does not have ${path}`);
    return action(decodeURIComponent(handle));
  }

  async view(): Promise<SimulationView> {
    await this.#server?.control.settled();
    await this.#macos.messages.settled();
    const permissions = { accessibility: true, automation: true };
    return this.#read((chats, db) => ({
      macos: '26.1',
      permissions,
      chats: viewChats({
        chats,
        durationOf: () => undefined,
        deliveryState: (guid) => deliveryState(db, guid),
      }),
    }));
  }

  async #say(from: string, said: Said): Promise<{ guid: string; chatId: number }> {
    const { text = '', chatId, service = 'iMessage', replyTo, effect, voice } = said;
    const attachments = [...(said.attachments ?? []), ...(voice === undefined ? [] : [voice])];
    const isLate = attachments.some(({ delayMs = 0 }) => delayMs > 0);
    const chat = chatId === undefined ? undefined : this.#read((chats) => chats.chat(chatId));
    if (isLate) await this.#macos.messages.holdFiles();
    const { guid, chatRowid } = await this.#macos.messages.write({
      from,
      chat: { members: chat?.recipients ?? [from], service },
      service,
      text,
      attachments,
      columns: {
        thread_originator_guid: replyTo ?? null,
        expressive_send_style_id: EFFECTS.find(({ name }) => name === effect)?.id ?? null,
        is_audio_message: voice === undefined ? 0 : 1,
      },
    });
    return { guid, chatId: this.#chatId(chatRowid) };
  }

  async #hear(person: string, { text }: { text: string }): Promise<{ guid: string; chatId: number }> {
    const chat = { members: [person], service: 'iMessage' };
    const { guid, chatRowid } = await this.#macos.messages.write({ from: 'me', chat, text });
    return { guid, chatId: this.#chatId(chatRowid) };
  }

  async #react(from: string, reaction: Reaction): Promise<{ guid: string }> {
    const { targetGuid, kind, action, locale = 'en', sticker } = reaction;
    const { target, chat } = this.#read((chats) => find(chats, targetGuid));
    const { guid } = await this.#macos.messages.write({
      from,
      chat: { members: chat.recipients, service: target.service },
      service: target.service,
      text: tapbackText(reaction, action, target.text, locale),
      // SMS has no reactions: they arrive as text.
      ...(target.service === 'iMessage' && {
        columns: {
          associated_message_guid: `p:0/${targetGuid}`,
          associated_message_type: tapbackCode(reaction, action),
          associated_message_emoji: kind === 'emoji' ? reaction.emoji : null,
        },
      }),
      ...(sticker !== undefined && { attachments: [{ ...sticker, columns: { is_sticker: 1 } }] }),
    });
    return { guid };
  }

  async #sticker(from: string, file: SaidFile): Promise<{ guid: string }> {
    const attachments = [{ ...file, columns: { is_sticker: 1 } }];
    const { guid } = await this.#macos.messages.write({ from, attachments });
    return { guid };
  }

  async #edit({ guid, text }: { guid: string; text: string }): Promise<object> {
    const bytes = encodeBody([{ text, attributes: { __kIMMessagePartAttributeName: 0 } }]);
    const base64 = Buffer.from(bytes).toString('base64');
    await this.#macos.messages.change({ guid, columns: { attributedBody: { base64 }, date_edited: 1 } });
    return {};
  }

  async #unsend({ guid }: { guid: string }): Promise<object> {
    const message_summary_info = { base64: RETRACTED };
    const columns = { part_count: 0, attributedBody: null, text: null, date_edited: 1, message_summary_info };
    await this.#macos.messages.change({ guid, columns });
    return {};
  }

  async #leave(from: string, { chatId }: { chatId: number }): Promise<object> {
    const { members, rowid } = this.#read((chats) => ({
      members: chats.chat(chatId)?.recipients ?? [],
      rowid: chats.rowidOf(chatId),
    }));
    await this.#macos.messages.write({
      from,
      chat: { members, service: 'iMessage' },
      bodyForm: 'none',
      columns: { item_type: PARTICIPANT_LEFT },
    });
    const sql = `DELETE FROM chat_handle_join WHERE chat_id = ${rowid} AND handle_id IN (SELECT ROWID FROM handle WHERE id = '${from}')`;
    await this.#macos.messages.alter({ sql });
    return {};
  }

  async #group({ recipients }: { recipients: string[] }): Promise<{ chatId: number }> {
    const rowid = await this.#macos.messages.group({ members: recipients, service: 'iMessage' });
    return { chatId: this.#chatId(rowid) };
  }

  async #change(person: string, { imessage }: { imessage: boolean }): Promise<object> {
    const settings = { notOnIMessage: imessage ? [] : [person] };
    await this.#macos.messages.configure(settings);
    await this.#macos.messages.configureScreen({ sendError: imessage ? 0 : NOT_ON_IMESSAGE });
    await this.#server?.control.configure(settings);
    return {};
  }

  #chatId(rowid: number): number {
    return this.#read((chats) => chatIdOf(chats.generation(), rowid));
  }

  #read<T>(read: (chats: ChatDb, db: DatabaseSync) => T): T {
    const { home, storePath } = this.#macos;
    const db = new DatabaseSync(storePath, { readOnly: true });
    try {
      return read(readChatDb(db, { folders: { home, messages: `${home}/Library/Messages` } }), db);
    } finally {
      db.close();
    }
  }
}

function find(chats: ChatDb, guid: string): { target: StoredRow; chat: Chat } {
  const target = chats.rowByGuid(guid);
  const chat = target?.chatId === undefined ? undefined : chats.chat(target.chatId);
  if (target === undefined || chat === undefined) throw new Error('There is no such message.');
  return { target, chat };
}

function deliveryState(db: DatabaseSync, guid: string): MessageView['state'] {
  const row = db.prepare('SELECT is_from_me, is_delivered, error FROM message WHERE guid = ?').get(guid);
  if (row?.['is_from_me'] === 0) return 'delivered';
  if (row?.['error'] !== 0) return 'failed';
  return row['is_delivered'] === 1 ? 'delivered' : 'sent';
}
