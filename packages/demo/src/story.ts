import { reactionsFor, reduceReactions } from '@footbridge/kit';
import type { ReactionState } from '@footbridge/kit';
import { until } from '@footbridge/testkit/until';

import { CONTACT, CUSTOMER, LOCATION } from './world.ts';
import type { World } from './world.ts';

/** What a newcomer sees first: a signed text, its status, a reply, a tapback, and a stranger turned away. */
export async function tellStory(world: World, step: (name: string, detail: string) => void): Promise<void> {
  const { crm, mac } = world;

  const sent = await crm.sendWebhook({
    fields: {
      locationId: LOCATION,
      contactId: CONTACT,
      phone: CUSTOMER,
      message: 'Hi Anna, we are open until six today.',
    },
  });
  expect(sent.status === 200, `the first text was answered ${sent.status}`);
  step('signed text', `POST /crm/webhook → 200`);

  const messageId = sent.messageId ?? '';
  await until(async () => (await crm.accepted({ messageId })).includes('delivered'), {
    what: 'the first text is delivered',
  });
  step('status', (await crm.accepted({ messageId })).join(' → '));

  const reply = await mac.say(CUSTOMER, { text: 'Perfect, see you at five!' });
  await until(async () => (await crm.messages()).length === 1, {
    what: 'the reply is in the CRM',
  });
  step('reply', 'Mac → POST /conversations/messages/inbound → 201');

  const first = (await mac.world()).chats
    .flatMap((chat) => chat.messages)
    .find((message) => message.from === 'me');
  await mac.react(CUSTOMER, {
    targetGuid: first?.guid ?? reply.guid,
    kind: 'classic',
    action: 'add',
    type: 'love',
  });
  await until(async () => (await crm.messages()).length === 2, {
    what: 'the tapback is in the CRM',
  });
  const state = (await crm.messages()).reduce<ReactionState>(reduceReactions, {});
  expect(reactionsFor(state, first?.guid ?? '').length === 1, 'the tapback was not paired to the first text');
  step('tapback', 'love added, paired to the first text by the kit');

  const stranger = await fetch(`${world.publicUrl}/crm/webhook`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      locationId: LOCATION,
      contactId: CONTACT,
      phone: CUSTOMER,
      message: 'not signed',
    }),
  });
  expect(stranger.status === 401, `an unsigned request was answered ${stranger.status}`);
  step('unsigned', '→ 401, as it must be');
}

function expect(held: boolean, otherwise: string): asserts held {
  if (!held) throw new Error(otherwise);
}
