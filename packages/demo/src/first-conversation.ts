import { reactionsFor, reduceReactions } from '@footbridge/kit';
import type { ReactionState } from '@footbridge/kit';
import { until } from '@footbridge/testkit/until';

import { CONTACT, CUSTOMER, LOCATION } from './demo.ts';
import type { Demo } from './demo.ts';

/** The conversation at the start of the demo: a signed text, its status, a reply, a tapback, and a rejected unsigned request. */
export async function runFirstConversation(
  demo: Demo,
  step: (name: string, detail: string) => void,
): Promise<void> {
  const { crm, mac } = demo;

  const sent = await crm.sendWebhook({
    fields: {
      locationId: LOCATION,
      contactId: CONTACT,
      phone: CUSTOMER,
      message: 'Hi Anna, we are open until six today.',
    },
  });
  expect(sent.status === 200, `the first text got HTTP ${sent.status}`);
  step('signed text', 'POST /crm/webhook → 200');

  const messageId = sent.messageId ?? '';
  await until(async () => (await crm.accepted({ messageId })).includes('delivered'), {
    what: 'the delivery of the first text',
  });
  step('status', (await crm.accepted({ messageId })).join(' → '));

  const reply = await mac.say(CUSTOMER, { text: 'Perfect, see you at five!' });
  await until(async () => (await crm.messages()).length === 1, {
    what: 'the reply in the CRM',
  });
  step('reply', 'POST /conversations/messages/inbound → 201');

  const first = (await mac.simulatorState()).chats
    .flatMap((chat) => chat.messages)
    .find((message) => message.from === 'me');
  await mac.react(CUSTOMER, {
    targetGuid: first?.guid ?? reply.guid,
    kind: 'classic',
    action: 'add',
    type: 'love',
  });
  await until(async () => (await crm.messages()).length === 2, {
    what: 'the tapback in the CRM',
  });
  const state = (await crm.messages()).reduce<ReactionState>(reduceReactions, {});
  expect(
    reactionsFor(state, first?.guid ?? '').length === 1,
    'the tapback was not matched to the first text',
  );
  step('tapback', 'love added, matched to the first text by the kit');

  const unsigned = await fetch(`${demo.publicUrl}/crm/webhook`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      locationId: LOCATION,
      contactId: CONTACT,
      phone: CUSTOMER,
      message: 'not signed',
    }),
  });
  expect(unsigned.status === 401, `an unsigned request got HTTP ${unsigned.status}`);
  step('unsigned', 'POST /crm/webhook → 401, as expected');
}

function expect(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}
