import { randomUUID } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

import { systemClock } from '@footbridge/runtime/clock';
import { MACOS_VERSIONS, openChatDb } from '@footbridge/simulator/chat-db';
import type { MacosVersion } from '@footbridge/simulator/chat-db';
import { afterAll, describe } from 'vitest';

import { findOutcome } from '../find-outcome.ts';
import { MacReader } from './mac-reader.ts';
import { messagesContract, reactionContract } from '../messages.contract.ts';
import type {
  Destination,
  Environment,
  Messages,
  OutgoingMessage,
  PressResult,
  ServiceName,
  TapbackPress,
} from '../messages.ts';
import { insertInto } from '../real-chat-db.fixture.ts';
import { tapbackCode } from '@footbridge/protocol/tapbacks';
import type { Outcome } from '../../../outcome.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The reader over a store with a real schema. Its second connection writes what Messages would write. */
class PlayedMac implements Messages {
  readonly #reader: MacReader;
  readonly #db: DatabaseSync;
  readonly #folder: string;

  constructor(home: string, macos: MacosVersion) {
    this.#folder = join(home, 'Library/Messages');
    mkdirSync(join(this.#folder, 'Attachments'), { recursive: true });
    this.#db = openChatDb(join(this.#folder, 'chat.db'), macos);
    let saved: string | undefined;
    const memory = {
      load: () => saved,
      save: (value: string) => {
        saved = value;
      },
    };
    const folders = { home, messages: this.#folder };
    this.#reader = new MacReader({ folders, memory, clock: systemClock });
  }

  get store(): MacReader['store'] {
    return this.#reader.store;
  }

  environment(): Environment {
    return { macos: '26.1', automation: true, accessibility: true };
  }

  capabilities(): readonly string[] {
    return [];
  }

  outcomeOf(message: OutgoingMessage, destination: Destination, since: number): Promise<Outcome> {
    return Promise.resolve(findOutcome(this.store, message, destination, since));
  }

  send(message: OutgoingMessage, destination: Destination): Promise<Outcome> {
    const chat = this.#chatOf(destination);
    if (chat === undefined) {
      return Promise.resolve({ state: 'failed', code: 'IMESSAGE_ERROR', message: 'no such chat' });
    }
    const service = destination.to === 'chat' ? 'iMessage' : destination.service;
    const guid = randomUUID();
    const rowid = this.#row(chat, { guid, service, text: message.kind === 'text' ? message.text : '\uFFFC' });
    if (message.kind !== 'text') {
      const { path, name, mime } = message.file;
      copyFileSync(path, join(this.#folder, 'Attachments', name));
      const attachment = insertInto(this.#db, 'attachment', {
        guid: `at_0_${guid}`,
        original_guid: `at_0_${guid}`,
        filename: `~/Library/Messages/Attachments/${name}`,
        transfer_name: name,
        mime_type: mime,
        transfer_state: 5,
      });
      insertInto(this.#db, 'message_attachment_join', { message_id: rowid, attachment_id: attachment });
    }
    return Promise.resolve({ state: 'delivered', guid });
  }

  react({ targetGuid, chatId, tapback }: TapbackPress): Promise<PressResult> {
    const target = this.store.rowByGuid(targetGuid);
    if (target === undefined || target.chatId !== chatId || tapback.kind !== 'classic') {
      return Promise.resolve({ state: 'failed', code: 'TARGET_NOT_FOUND', message: 'not on screen' });
    }
    const present = this.store.ownReaction(targetGuid);
    const isActive = present?.kind === 'classic' && present.type === tapback.type;
    this.#row(chatId % 2 ** 32, {
      guid: randomUUID(),
      service: 'iMessage',
      associated_message_guid: `p:0/${targetGuid}`,
      associated_message_type: tapbackCode(tapback, isActive ? 'remove' : 'add'),
    });
    return Promise.resolve({ state: 'pressed' });
  }

  audioDuration(): undefined {
    return undefined;
  }

  watch(listener: () => void): () => void {
    return this.#reader.watch(listener);
  }

  close(): void {
    this.#reader.close();
    this.#db.close();
  }

  #row(chat: number, values: Record<string, SQLInputValue>): number {
    const date = BigInt(Date.now() - Date.UTC(2001, 0, 1)) * 1_000_000n;
    const own = { is_from_me: 1, is_sent: 1, is_finished: 1, date };
    const rowid = insertInto(this.#db, 'message', { ...own, ...values });
    insertInto(this.#db, 'chat_message_join', { chat_id: chat, message_id: rowid, message_date: date });
    return rowid;
  }

  #chatOf(destination: Destination): number | undefined {
    if (destination.to === 'chat') {
      return this.store.chat(destination.chatId) === undefined ? undefined : destination.chatId % 2 ** 32;
    }
    const { service } = destination;
    if (destination.to === 'person') {
      const known = this.store.directChat(destination.handle, service);
      if (known?.service === service) return known.id % 2 ** 32;
      return this.#newChat([destination.handle], service);
    }
    const known = this.store.groupOf(destination.recipients, service);
    return typeof known === 'object' ? known.id % 2 ** 32 : this.#newChat(destination.recipients, service);
  }

  #newChat(members: readonly string[], service: ServiceName): number {
    const chat = insertInto(this.#db, 'chat', {
      guid: `${service};${members.length > 1 ? '+' : '-'};${randomUUID()}`,
      style: members.length > 1 ? 43 : 45,
      service_name: service,
    });
    for (const member of members) {
      const known = this.#db
        .prepare('SELECT ROWID AS id FROM handle WHERE id = ? AND service = ?')
        .get(member, service);
      const handle = known?.['id'] ?? insertInto(this.#db, 'handle', { id: member, service });
      insertInto(this.#db, 'chat_handle_join', { chat_id: chat, handle_id: Number(handle) });
    }
    return chat;
  }
}

let made = 0;
describe.each(MACOS_VERSIONS)('the reader over a store of macOS %s', (macos) => {
  messagesContract(() => new PlayedMac(join(folder, String((made += 1))), macos));
  reactionContract(() => new PlayedMac(join(folder, String((made += 1))), macos));
});
