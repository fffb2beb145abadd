import { makeFooter, makeReaction } from '@footbridge/kit';
import type { Metadata, ReactionRequest } from '@footbridge/kit';
import type { ReactionContent } from '@footbridge/testkit/agent';

import { scenariosNamed } from './scenario-runner.ts';
import type { ScenarioRunner } from './scenario-runner.ts';
import { isFile } from './media-store.ts';
import type { MediaStore } from './media-store.ts';
import { CONTACT, CUSTOMER, FRIEND, LOCATION } from './demo.ts';
import type { Demo } from './demo.ts';

type Input = Record<string, unknown>;

/**
 * The actions of a person using the page. The customer acts through the simulated phone, the agent through signed
 * webhooks. The simulator and the service validate the input, as they do for any other client.
 */
export function actions(
  demo: Demo,
  runner: ScenarioRunner,
  media: MediaStore,
  pageUrl: () => string,
): (name: string, input: Input) => Promise<unknown> {
  const { mac, crm } = demo;

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

  const table: Record<string, (input: Input) => Promise<unknown>> = {
    /** The customer or the friend sends a text, a voice message or a file. */
    say: ({ from, ...content }) => mac.say(from === FRIEND ? FRIEND : CUSTOMER, content),
    /** The customer or the friend reacts to a message. */
    react: ({ from, ...reaction }) =>
      mac.react(from === FRIEND ? FRIEND : CUSTOMER, reaction as unknown as ReactionContent),
    sticker({ from, ...file }) {
      if (!isFile(file)) throw new Error('A sticker must be a file with name, mime and base64.');
      return mac.sticker(from === FRIEND ? FRIEND : CUSTOMER, file);
    },
    /** Creates a group with the customer, the friend and the business. */
    group: () => mac.group([CUSTOMER, FRIEND]),
    /** The agent sends a message from the CRM. `metadata` becomes a footer, and the Mac downloads the files by URL. */
    send({ text, metadata, files }) {
      const plain = typeof text === 'string' ? text : '';
      return webhook(
        metadata === undefined ? plain : makeFooter(metadata as Metadata, { text: plain }),
        filesOf(files).map((file) => `${pageUrl()}${media.put(file)}`),
      );
    },
    /** The agent reacts to a message. The kit writes the footer and throws for a reaction that the Mac would reject. */
    tapback: (reaction) => webhook(makeReaction(reaction as unknown as ReactionRequest)),
    /** Runs one scenario, or all of them without an id. The event `scenarios` reports the progress. */
    break: ({ id }) => runner.run(scenariosNamed(id)),
    /** Changes how the CRM treats a repeated request. */
    crm: ({ honoursIdempotencyKey }) => runner.honourIdempotencyKey(honoursIdempotencyKey === true),
  };

  return (name, input) => {
    const action = Object.hasOwn(table, name) ? table[name] : undefined;
    if (action === undefined) throw new Error('Unknown action.');
    return action(input);
  };
}

const filesOf = (...values: unknown[]) => values.flat().filter(isFile);
