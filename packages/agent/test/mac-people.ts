import { DatabaseSync } from 'node:sqlite';

import type { SimulatedBlueBubbles } from '@footbridge/testkit/bluebubbles';
import type { SimulatedMacos } from '@footbridge/testkit/macos';

import type { ChatDb } from '../src/ports/messages/chat-db.ts';
import { chatIdOf } from '../src/ports/messages/chat-ids.ts';
import { EFFECTS } from '../src/ports/messages/effects.ts';
import { viewChats } from '../src/ports/messages/simulated-view.ts';
import type { MessageView, SimulationView } from '../src/ports/messages/simulation.ts';
import { readChatDb } from './real-chat-db.ts';

interface Said {
  readonly text?: string;
  readonly chatId?: number;
  readonly service?: string;
  readonly effect?: string;
  readonly replyTo?: string;
  readonly attachments?: readonly { name: string; mime: string; base64: string }[];
}

const ACTION = /^\/people\/([^/]+)(\/say)?$/;

/** The people and chats of a simulated macOS, with the calls of the simulator's control port that a Mac can carry out. */
export class MacPeople {
  readonly #macos: SimulatedMacos;
  readonly #server: SimulatedBlueBubbles | undefined;
  readonly #notOnIMessage = new Set<string>();

  constructor(macos: SimulatedMacos, server?: SimulatedBlueBubbles) {
    this.#macos = macos;
    this.#server = server;
  }

  async play(path: string, body: object): Promise<object> {
    if (path === '/groups') return this.#group(body as { recipients: string[] });
    const [, handle, verb] = ACTION.exec(path) ?? [];
    if (handle === undefined) throw new Error(`A simulated macOS does not have ${path}`);
    const person = decodeURIComponent(handle);
    return verb === '/say' ? this.#say(person, body) : this.#change(person, body as { imessage: boolean });
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
    const { text = '', chatId, service = 'iMessage', attachments = [], replyTo, effect } = said;
    const chat = chatId === undefined ? undefined : this.#read((chats) => chats.chat(chatId));
    const { guid, chatRowid } = await this.#macos.messages.write({
      from,
      chat: { members: chat?.recipients ?? [from], service },
      service,
      text,
      attachments,
      columns: {
        thread_originator_guid: replyTo ?? null,
        expressive_send_style_id: EFFECTS.find(({ name }) => name === effect)?.id ?? null,
      },
    });
    await this.#macos.messages.settled();
    return { guid, chatId: this.#chatId(chatRowid) };
  }

  async #group({ recipients }: { recipients: string[] }): Promise<{ chatId: number }> {
    const rowid = await this.#macos.messages.group({ members: recipients, service: 'iMessage' });
    return { chatId: this.#chatId(rowid) };
  }

  async #change(person: string, { imessage }: { imessage: boolean }): Promise<object> {
    if (imessage) this.#notOnIMessage.delete(person);
    else this.#notOnIMessage.add(person);
    const settings = { notOnIMessage: [...this.#notOnIMessage] };
    await this.#macos.messages.configure(settings);
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

function deliveryState(db: DatabaseSync, guid: string): MessageView['state'] {
  const row = db.prepare('SELECT is_from_me, is_delivered, error FROM message WHERE guid = ?').get(guid);
  if (row?.['is_from_me'] === 0) return 'delivered';
  if (row?.['error'] !== 0) return 'failed';
  return row['is_delivered'] === 1 ? 'delivered' : 'sent';
}
