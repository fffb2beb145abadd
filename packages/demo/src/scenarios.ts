import { makeReaction } from '@footbridge/kit';
import { ed25519Key } from '@footbridge/testkit/keys';
import { until } from '@footbridge/testkit/until';

import {
  countInCrm,
  countOnPhone,
  countSentBy,
  DISPLACED,
  field,
  times,
  unique,
  waitForAck,
  waitForFailure,
  waitForStatus,
  wasDisplaced,
  webhookFields,
  withOtherLocation,
  withSecondMac,
} from './scenario-steps.ts';
import { CUSTOMER, LOCATION, OTHER_CUSTOMER } from './demo.ts';
import type { Demo } from './demo.ts';

/** A deliberate failure: the guarantee that must hold, and the observed result. */
export interface Scenario {
  readonly id: string;
  readonly title: string;
  readonly promise: string;
  run(demo: Demo): Promise<Outcome>;
}

export interface Outcome {
  readonly held: boolean;
  readonly result: string;
}

const held = (condition: boolean, result: string): Outcome => ({ held: condition, result });

/** Sends a message from the customer and checks that the CRM gets it exactly once. */
async function deliveredOnce(demo: Demo, text: string): Promise<Outcome> {
  const started = performance.now();
  const { guid } = await demo.mac.say(CUSTOMER, { text });
  await waitForAck(demo, guid);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const copies = await countInCrm(demo, text);
  return held(copies === 1, `the CRM has it ${times(copies)}, after ${seconds} s`);
}

export const SCENARIOS: readonly Scenario[] = [
  {
    id: 'mac-offline',
    title: 'Mac offline',
    promise:
      'The CRM is told immediately that no Mac is connected: 404 and a failed status. Nothing is queued.',
    async run(demo) {
      await demo.mac.halt();
      try {
        const sent = await demo.crm.sendWebhook({ fields: webhookFields('Hello, is anyone there?') });
        const { code } = await waitForFailure(demo, sent.messageId);
        return held(
          sent.status === 404 && code === 'CLIENT_NOT_CONNECTED',
          `${sent.status} ${field(sent.answer, 'code')}, then status failed with ${code}`,
        );
      } finally {
        await demo.mac.start();
        await demo.mac.registered();
      }
    },
  },
  {
    id: 'second-mac',
    title: 'Second Mac takes over',
    promise:
      'Only one Mac serves a location. The newer one takes over; the older one is notified and does not reconnect.',
    async run(demo) {
      const text = unique('Which Mac is sending this?');
      const before = demo.wire.entries.at(-1)?.n ?? 0;
      const bySecond = await withSecondMac(demo, {}, async (second) => {
        const sent = await demo.crm.sendWebhook({ fields: webhookFields(text) });
        await waitForStatus(demo, sent.messageId ?? '', 'delivered');
        return countSentBy(second, text);
      });
      const byFirst = await countOnPhone(demo, text);
      const displaced = wasDisplaced(demo, before);
      return held(
        bySecond === 1 && byFirst === 0 && displaced,
        `the second Mac sent it ${times(bySecond)}; the first Mac was ${displaced ? `closed with ${DISPLACED}` : 'not notified'} and sent it ${times(byFirst)}`,
      );
    },
  },
  {
    id: 'crm-500',
    title: 'CRM returns 500',
    promise: 'The Mac keeps the message and Footbridge retries. The CRM gets it exactly once.',
    async run(demo) {
      await demo.crm.injectFault({ match: 'inbound', times: 2, how: { status: 500 } });
      return deliveredOnce(demo, unique('Delivered after two 500s'));
    },
  },
  {
    id: 'crm-answer-lost',
    title: 'CRM response lost',
    promise:
      'The CRM stores the message, but its response is lost. Footbridge does not add it a second time: the CRM has it once.',
    async run(demo) {
      await demo.crm.injectFault({ match: 'inbound', times: 1, how: 'dropAnswer' });
      return deliveredOnce(demo, unique('The response was lost'));
    },
  },
  {
    id: 'crm-slow-pending',
    title: 'CRM slow on pending',
    promise:
      'The CRM takes two seconds to respond to pending. The delivered status still arrives after it, never before.',
    async run(demo) {
      await demo.crm.injectFault({ match: 'status', times: 1, how: { answerDelayMs: 2000 } });
      const sent = await demo.crm.sendWebhook({ fields: webhookFields('The CRM is slow today') });
      await waitForStatus(demo, sent.messageId ?? '', 'delivered');
      const order = (await demo.crm.accepted({ messageId: sent.messageId ?? '' })).join(' → ');
      return held(order === 'pending → delivered', `the CRM received ${order}`);
    },
  },
  {
    id: 'wrong-signature',
    title: 'Wrong signature',
    promise: 'A request signed with an unregistered key is rejected, and nothing is sent.',
    async run(demo) {
      const text = 'Signed with an unregistered key';
      const sent = await demo.crm.sendWebhook({
        fields: webhookFields(text),
        options: { key: ed25519Key() },
      });
      const texts = await countOnPhone(demo, text);
      return held(
        sent.status === 401 && texts === 0,
        `${sent.status}, and ${texts === 0 ? 'nothing was sent' : 'yet the text was sent'}`,
      );
    },
  },
  {
    id: 'sixty-one',
    title: '61 requests in a minute',
    promise:
      'A location may send 60 requests per minute. 60 are delivered, the 61st gets 429, and other locations are not affected.',
    async run(demo) {
      // A new location for every run, because the limit of the last one may still be used up.
      const locationId = `locBUSY${Date.now()}`;
      const fields = { ...webhookFields('One of 61'), locationId, phone: OTHER_CUSTOMER };
      const { statuses, sent } = await withOtherLocation(demo, locationId, async (mac) => {
        const webhooks = await Promise.all(
          Array.from({ length: 61 }, () => demo.crm.sendWebhook({ fields })),
        );
        const accepted = webhooks.filter(({ status }) => status === 200);
        for (const { messageId = '' } of accepted) await waitForStatus(demo, messageId, 'delivered');
        return { statuses: webhooks, sent: await countSentBy(mac, fields.message) };
      });
      const limited = statuses.filter(({ status }) => status === 429);
      const other = await demo.crm.sendWebhook({
        fields: webhookFields('Meanwhile, at another location'),
      });
      const retryAfter = limited[0]?.headers?.['retry-after'];
      return held(
        sent === 60 && limited.length === 1 && other.status === 200,
        `${sent} were delivered, ${limited.length} got 429 with Retry-After ${retryAfter}; the other location got ${other.status}`,
      );
    },
  },
  {
    id: 'too-long',
    title: '20,001 characters',
    promise: 'A message that is one character too long is rejected with its length and reported as failed.',
    async run(demo) {
      const sent = await demo.crm.sendWebhook({ fields: webhookFields('a'.repeat(20_001)) });
      await waitForStatus(demo, sent.messageId ?? '', 'failed');
      const code = field(sent.answer, 'code');
      return held(
        sent.status === 400 && code === 'MESSAGE_BODY_TOO_LONG',
        `400 ${code}, received ${field(sent.answer, 'received')}, limit ${field(sent.answer, 'limit')}`,
      );
    },
  },
  {
    id: 'twice',
    title: 'Same webhook twice',
    promise: 'CRMs repeat webhooks. The customer still gets the text only once.',
    async run(demo) {
      const text = unique('Only once, please');
      const fields = { ...webhookFields(text), messageId: `m${Date.now()}` };
      const responses = [await demo.crm.sendWebhook({ fields }), await demo.crm.sendWebhook({ fields })];
      await waitForStatus(demo, fields.messageId, 'delivered');
      await new Promise((resolve) => setTimeout(resolve, 500));
      const texts = await countOnPhone(demo, text);
      return held(
        texts === 1 && responses.every(({ status }) => status === 200),
        `both requests got ${responses.map(({ status }) => status).join(' and ')}; the phone got the text ${times(texts)}`,
      );
    },
  },
  {
    id: 'token-expired',
    title: 'Token expired',
    promise: 'The token is refreshed once, and the message arrives.',
    async run(demo) {
      const before = (await demo.crm.calls()).filter(({ route }) => route === 'token').length;
      await demo.crm.expireTokens({ locationId: LOCATION });
      const outcome = await deliveredOnce(demo, unique('Delivered with a new token'));
      const refreshes = (await demo.crm.calls()).filter(({ route }) => route === 'token').length - before;
      return held(
        outcome.held && refreshes === 1,
        `the token was refreshed ${times(refreshes)}; ${outcome.result}`,
      );
    },
  },
  {
    id: 'emoji-missing',
    title: 'Emoji not available',
    promise:
      'The Mac cannot apply the emoji. The CRM gets a failed status with the reason, and no text is sent instead.',
    async run(demo) {
      const received = await demo.mac.say(CUSTOMER, { text: 'React to this' });
      await demo.mac.change({ faults: [{ job: 'reaction', code: 'EMOJI_NOT_IN_RECENTS', times: 1 }] });
      const message = makeReaction({
        chatId: received.chatId,
        target: received.guid,
        kind: 'emoji',
        emoji: '🦄',
        action: 'add',
      });
      const sent = await demo.crm.sendWebhook({ fields: webhookFields(message) });
      const { code } = await waitForFailure(demo, sent.messageId);
      return held(code === 'EMOJI_NOT_IN_RECENTS', `status failed with ${code}`);
    },
  },
  {
    id: 'queue-full',
    title: 'Queue full',
    promise:
      'A Mac queues up to 500 messages; this one only two. When the queue is full, the CRM is told to retry later.',
    run: (demo) =>
      withSecondMac(demo, { FOOTBRIDGE_QUEUE_LIMIT: '2' }, async (slow) => {
        // It sends nothing until its delay changes, so that the queue stays full.
        await slow.change({ delayMs: 600_000 });
        const sent: string[] = [];
        for (const position of ['First', 'Second', 'Third']) {
          const { messageId = '' } = await demo.crm.sendWebhook({
            fields: webhookFields(`${position} in the queue`),
          });
          sent.push(messageId);
        }
        const { code, message: reason } = await waitForFailure(demo, sent.pop());
        await slow.change({ delayMs: 0 });
        for (const messageId of sent) await waitForStatus(demo, messageId, 'delivered');
        return held(
          code === 'RATE_LIMITED',
          `${sent.length} were delivered, the third failed with ${code}: ${reason}`,
        );
      }),
  },
  {
    id: 'kill-service',
    title: 'Kill the service',
    promise:
      'The service gets kill -9 while five messages are in flight. After the restart the CRM has all five exactly once.',
    async run(demo) {
      const texts = Array.from({ length: 5 }, (_, index) => unique(`Message ${index + 1} of 5`));
      // The CRM takes them one after another: the last one is in flight for two seconds.
      await demo.crm.injectFault({ match: 'inbound', times: texts.length, how: { answerDelayMs: 400 } });
      const guids: string[] = [];
      for (const text of texts) guids.push((await demo.mac.say(CUSTOMER, { text })).guid);
      await until(async () => (await countInCrm(demo, texts[0] ?? '')) > 0, {
        what: 'the first message in the CRM',
      });
      const started = performance.now();
      await demo.killService();
      for (const guid of guids) await waitForAck(demo, guid);
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      const counts = await Promise.all(texts.map((text) => countInCrm(demo, text)));
      const exactlyOnce = counts.every((copies) => copies === 1);
      return held(
        exactlyOnce,
        `the service was killed and restarted; the CRM has ${exactlyOnce ? 'all five once' : `them ${counts.map(times).join(', ')}`}, after ${seconds} s`,
      );
    },
  },
];
