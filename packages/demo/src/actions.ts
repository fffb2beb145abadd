import { makeFooter, makeReaction } from '@footbridge/kit';
import type { Metadata, ReactionRequest } from '@footbridge/kit';
import type { Reacted, Said } from '@footbridge/testkit/agent';

import { BREAKS } from './breaks.ts';
import { CONTACT, CUSTOMER, FRIEND, LOCATION } from './world.ts';
import type { World } from './world.ts';

type Wish = Record<string, unknown>;

/** What a person at the page can do. The customer acts through the simulated phone, the agent through signed webhooks: nothing is short-circuited. */
export function actions(world: World): (name: string, wish: Wish) => Promise<unknown> {
  const { mac, crm } = world;
  const webhook = (message: string, more: Wish = {}) =>
    crm.sendWebhook({
      fields: { locationId: LOCATION, contactId: CONTACT, phone: CUSTOMER, message, ...more },
    });

  const table: Record<string, (wish: Wish) => Promise<unknown>> = {
    /** The customer writes, speaks, or sends a file. */
    say: (wish) => mac.say(typeof wish['from'] === 'string' ? wish['from'] : CUSTOMER, wish as Said),
    /** The customer taps back. */
    react: (wish) => mac.react(CUSTOMER, wish as unknown as Reacted),
    sticker: (wish) =>
      mac.sticker(CUSTOMER, wish as unknown as { name: string; mime: string; base64: string }),
    /** A group of the customer, a friend and us. */
    group: () => mac.group([CUSTOMER, FRIEND]),
    /** The agent writes in the CRM; `metadata` becomes a footer. */
    send: ({ text, metadata, attachments }) =>
      webhook(
        metadata === undefined
          ? String(text ?? '')
          : makeFooter(metadata as Metadata, { text: String(text ?? '') }),
        {
          ...(Array.isArray(attachments) && { attachments }),
          ...((text === undefined || text === '') && metadata === undefined && { message: undefined }),
        },
      ),
    /** The agent taps back: the kit writes the footer and refuses what the Mac would refuse. */
    tapback: ({ display, ...reaction }) =>
      webhook(`${String(display ?? 'Tapback')}\n${makeReaction(reaction as unknown as ReactionRequest)}`),
    break: async ({ id }) => {
      const chosen = BREAKS.find((candidate) => candidate.id === id);
      if (chosen === undefined) throw new Error('There is no such switch.');
      try {
        return await chosen.run(world);
      } finally {
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
