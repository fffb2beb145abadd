import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { MessagesApp } from '@footbridge/simulator/messages-app';
import { seeded } from '@footbridge/testkit/seeded';
import { afterEach, describe, expect, it } from 'vitest';

import { findRequiredChat } from '@footbridge/agent/flows/outbound/find-chat';
import type { Address } from '@footbridge/agent/flows/outbound/read-request';
import { route } from '@footbridge/agent/flows/outbound/route';
import { MacStore } from '@footbridge/agent/ports/messages/macos/mac-store';
import type { Chat, Destination, MessageStore } from '@footbridge/agent/ports/messages/messages';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const PEOPLE = Array.from({ length: 30 }, (_, index) =>
  index % 5 === 4 ? `person${index}@example.com` : `+1555040${String(index).padStart(4, '0')}`,
);
const FOOTERS = 500;

/** What Messages does to its store. After each, chat ids belong to other conversations. */
const CHANGES: Readonly<Record<string, (app: MessagesApp) => void>> = {
  'synced again': (app) => app.resync({ newest: 1_000 }),
  'rebuilt with other chats': (app) => {
    app.rebuild();
    for (const person of PEOPLE.toReversed()) app.write({ from: person, text: 'Hello again' });
  },
  'restored from a backup': (app) => {
    app.restore();
    for (const person of PEOPLE) app.write({ from: `+1${person}`, text: 'Another person' });
  },
};

describe.each(Object.keys(CHANGES))('M11 footers from before the store was %s', (change) => {
  it(`M11 lead ${FOOTERS} random requests to the people of the request or nowhere`, async () => {
    const home = await tempDir(cleanup);
    const app = new MessagesApp(home, 26);
    cleanup.add(() => app.close());
    app.backUp();
    const random = seeded(11);
    const pick = <T>(items: readonly T[]): T => {
      const item = items[Math.floor(random() * items.length)];
      if (item === undefined) throw new Error('nothing to pick from');
      return item;
    };
    for (const person of PEOPLE) app.write({ from: person, text: 'Hello' });
    for (let group = 0; group < 20; group += 1) {
      const members = [...new Set(Array.from({ length: 2 + (group % 4) }, () => pick(PEOPLE)))];
      if (members.length > 1)
        app.write({ from: pick(members), chat: { members, service: 'iMessage' }, text: 'Hi' });
    }
    await app.settled();
    let saved: string | undefined;
    const store = new MacStore(
      { home, messages: join(home, 'Library/Messages') },
      {
        load: () => saved,
        save: (value) => {
          saved = value;
        },
      },
    );
    cleanup.add(() => store.close());
    const chats = store.rowsAfter(0, 1_000).flatMap(({ chatId }) => store.chat(chatId ?? 0) ?? []);
    expect(chats.length).toBeGreaterThan(40);

    CHANGES[change]?.(app);
    await app.settled();
    store.refresh();
    let delivered = 0;
    for (let round = 0; round < FOOTERS; round += 1) {
      const chat = pick(chats);
      const address = footerOf(chat, random, pick);
      expect(findRequiredChat(address, store)).toBeUndefined();
      const destination = route(address, store);
      if ('state' in destination) continue;
      delivered += 1;
      const people = peopleOf(destination, store);
      const intended = people.length > 1 ? chat.recipients : [address.phone];
      expect(people.toSorted(), JSON.stringify({ round, change })).toEqual(intended.toSorted());
    }
    expect(delivered).toBeGreaterThan(FOOTERS / 4);
  });
});

/** A request with the footer of an inbound message of the chat. The CRM may drop any of its fields. */
function footerOf(chat: Chat, random: () => number, pick: (items: readonly string[]) => string): Address {
  const maybe = <T>(value: T): T | undefined => (random() < 0.6 ? value : undefined);
  return {
    phone: pick(chat.recipients),
    channel: random() < 0.2 ? 'sms' : 'imessage',
    chatId: chat.id,
    isGroup: maybe(chat.isGroup),
    recipients: maybe(chat.recipients),
    sender: maybe(pick(chat.recipients)),
  };
}

function peopleOf(destination: Destination, store: MessageStore): readonly string[] {
  if (destination.to === 'person') return [destination.handle];
  if (destination.to === 'group') return destination.recipients;
  return store.chat(destination.chatId)?.recipients ?? [];
}
