import { makeFooter, makeReaction } from '@footbridge/kit';
import type { Metadata, ReactionRequest } from '@footbridge/kit';
import type { Reacted } from '@footbridge/testkit/agent';

import { BREAKS } from './breaks.ts';
import { isFile } from './media-shelf.ts';
import type { MediaShelf } from './media-shelf.ts';
import { CONTACT, CUSTOMER, FRIEND, LOCATION } from './world.ts';
import type { World } from './world.ts';

type Wish = Record<string, unknown>;

/**
 * What a person at the page can do. The customer acts through the simulated phone, the agent through signed webhooks:
 * nothing is short-circuited. The simulator and the service check what they are given, as they do with anybody.
 */
export function actions(
  world: World,
  shelf: MediaShelf,
  pageUrl: () => string,
): (name: string, wish: Wish) => Promise<unknown> {
  const { mac, crm } = world;
  let breaking = false;

  const webhook = (message: string, attachments: string[] = []) =>
    crm.sendWebhook({
      fields: {
        locationId: LOCATION,
        contactId: CONTACT,
        phone: CUSTOMER,
        ...(message !== '' && { message }),
        ...(attachments.length > 0 && { attachments }),
      },
    });

  const table: Record<string, (wish: Wish) => Promise<unknown>> = {
    /** The customer, or the friend, writes, speaks, or sends a file. */
    say: ({ from, ...wish }) => mac.say(from === FRIEND ? FRIEND : CUSTOMER, wish),
    /** The customer taps back. */
    react: ({ from, ...wish }) => mac.react(from === FRIEND ? FRIEND : CUSTOMER, wish as unknown as Reacted),
    sticker({ from, ...wish }) {
      if (!isFile(wish)) throw new Error('A sticker is a file: name, mime, base64.');
      return mac.sticker(from === FRIEND ? FRIEND : CUSTOMER, wish);
    },
    /** A group of the customer, a friend and us. */
    group: () => mac.group([CUSTOMER, FRIEND]),
    /** The agent writes in the CRM; `metadata` becomes a footer, files become addresses for the Mac to fetch. */
    send({ text, metadata, files }) {
      const plain = typeof text === 'string' ? text : '';
      return webhook(
        metadata === undefined ? plain : makeFooter(metadata as Metadata, { text: plain }),
        filesOf(files).map((file) => `${pageUrl()}${shelf.put(file)}`),
      );
    },
    /** The agent taps back: the kit writes the footer and refuses what the Mac would refuse. */
    tapback: (reaction) => webhook(makeReaction(reaction as unknown as ReactionRequest)),
    async break({ id }) {
      const chosen = BREAKS.find((candidate) => candidate.id === id);
      if (chosen === undefined) throw new Error('There is no such switch.');
      if (breaking) throw new Error('Something is being broken already. One thing at a time.');
      breaking = true;
      try {
        return await chosen.run(world);
      } finally {
        breaking = false;
        await crm.calm();
      }
    },
  };

  return (name, wish) => {
    const action = Object.hasOwn(table, name) ? table[name] : undefined;
    if (action === undefined) throw new Error('There is no such action.');
    return action(wish);
  };
}

const filesOf = (...values: unknown[]) => values.flat().filter(isFile);
