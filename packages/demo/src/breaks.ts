import { makeReaction } from '@footbridge/kit';
import { ed25519Key } from '@footbridge/testkit/keys';
import { until } from '@footbridge/testkit/until';

import {
  arrived,
  DISPLACED,
  failure,
  field,
  fresh,
  marked,
  onPhone,
  sentBy,
  times,
  told,
  wasDisplaced,
  withSecondMac,
} from './evidence.ts';
import { CUSTOMER, LOCATION } from './world.ts';
import type { World } from './world.ts';

/** Something that goes wrong on purpose: what is promised before, and what was seen after. */
export interface Break {
  readonly id: string;
  readonly title: string;
  readonly promise: string;
  run(world: World): Promise<Outcome>;
}

interface Outcome {
  readonly held: boolean;
  readonly result: string;
}

const held = (condition: boolean, result: string): Outcome => ({ held: condition, result });

/** A customer's message that must be in the CRM once, and how long that took. */
async function once(world: World, text: string): Promise<Outcome> {
  const started = performance.now();
  await world.mac.say(CUSTOMER, { text });
  await until(async () => (await arrived(world, text)) > 0, {
    what: 'the message reaches the CRM',
  });
  const took = ((performance.now() - started) / 1000).toFixed(1);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const copies = await arrived(world, text);
  return held(copies === 1, `the CRM has it ${times(copies)}, ${took} s later`);
}

export const BREAKS: readonly Break[] = [
  {
    id: 'mac-offline',
    title: 'Mac offline',
    promise: 'The CRM learns at once that nobody is there: 404, and a failed status. Nothing is queued.',
    async run(world) {
      await world.mac.halt();
      try {
        const sent = await world.crm.sendWebhook({ fields: fresh('is anybody there?') });
        const { code } = await failure(world, sent.messageId);
        return held(
          sent.status === 404 && code === 'CLIENT_NOT_CONNECTED',
          `${sent.status} ${field(sent.answer, 'code')}, then status failed with ${code}`,
        );
      } finally {
        await world.mac.start();
        await world.mac.registered();
      }
    },
  },
  {
    id: 'second-mac',
    title: 'Second Mac takes over',
    promise: 'One Mac serves a location. The newer one wins, the older one is told and stays away.',
    async run(world) {
      const text = marked('which Mac am I on?');
      const before = world.wire.entries.at(-1)?.n ?? 0;
      const onSecond = await withSecondMac(world, {}, async (second) => {
        const sent = await world.crm.sendWebhook({ fields: fresh(text) });
        await told(world, sent.messageId ?? '', 'delivered');
        return sentBy(second, text);
      });
      const onFirst = await onPhone(world, text);
      const displaced = wasDisplaced(world, before);
      return held(
        onSecond === 1 && onFirst === 0 && displaced,
        `the second Mac sent it ${times(onSecond)}; the first one was ${displaced ? `closed with ${DISPLACED}` : 'not told'} and sent it ${times(onFirst)}`,
      );
    },
  },
  {
    id: 'crm-500',
    title: 'CRM answers 500',
    promise: 'The Mac keeps the message, Footbridge tries again: the CRM has it once.',
    async run(world) {
      await world.crm.misbehave({ match: 'inbound', times: 2, how: { status: 500 } });
      return once(world, marked('through two 500s'));
    },
  },
  {
    id: 'crm-answer-lost',
    title: 'CRM answer lost',
    promise:
      'The CRM stored it but the answer never came. It is sent again under the same key: the CRM has it once.',
    async run(world) {
      await world.crm.misbehave({ match: 'inbound', times: 1, how: 'dropAnswer' });
      return once(world, marked('the answer was lost'));
    },
  },
  {
    id: 'crm-slow-pending',
    title: 'CRM slow on pending',
    promise: 'The CRM takes two seconds to answer pending; delivered still arrives after it, never before.',
    async run(world) {
      await world.crm.misbehave({ match: 'status', times: 1, how: { answerDelayMs: 2000 } });
      const sent = await world.crm.sendWebhook({ fields: fresh('slowly, slowly') });
      await told(world, sent.messageId ?? '', 'delivered');
      const order = (await world.crm.accepted({ messageId: sent.messageId ?? '' })).join(' → ');
      return held(order === 'pending → delivered', `the CRM heard ${order}`);
    },
  },
  {
    id: 'wrong-signature',
    title: 'Wrong signature',
    promise: 'A request signed with a key that nobody registered goes nowhere.',
    async run(world) {
      const sent = await world.crm.sendWebhook({
        fields: fresh('signed by a stranger'),
        options: { key: ed25519Key() },
      });
      const texts = await onPhone(world, 'signed by a stranger');
      return held(
        sent.status === 401 && texts === 0,
        `${sent.status}, and ${texts === 0 ? 'no phone' : 'yet a phone'} rang`,
      );
    },
  },
  {
    id: 'sixty-one',
    title: '61 in a minute',
    promise: 'A location may send 60 a minute. The 61st waits, other locations notice nothing.',
    async run(world) {
      const locationId = `locFLOOD${Date.now()}`;
      const statuses = await Promise.all(
        Array.from({ length: 61 }, () =>
          world.crm.sendWebhook({ fields: { ...fresh('flood'), locationId } }),
        ),
      );
      const limited = statuses.filter(({ status }) => status === 429);
      const other = await world.crm.sendWebhook({ fields: fresh('meanwhile, elsewhere') });
      const retryAfter = limited[0]?.headers?.['retry-after'];
      return held(
        limited.length === 1 && other.status === 200,
        `${statuses.length - limited.length} passed, ${limited.length} got 429 with Retry-After ${retryAfter}; the other location got ${other.status}`,
      );
    },
  },
  {
    id: 'too-long',
    title: '20,001 characters',
    promise: 'One character too many is refused, says how many there were, and is reported as failed.',
    async run(world) {
      const sent = await world.crm.sendWebhook({ fields: fresh('a'.repeat(20_001)) });
      await told(world, sent.messageId ?? '', 'failed');
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
    promise: 'CRMs repeat themselves. The person gets one text.',
    async run(world) {
      const text = marked('only once please');
      const fields = { ...fresh(text), messageId: `m${Date.now()}` };
      const answers = [await world.crm.sendWebhook({ fields }), await world.crm.sendWebhook({ fields })];
      await told(world, fields.messageId, 'delivered');
      await new Promise((resolve) => setTimeout(resolve, 500));
      const texts = await onPhone(world, text);
      return held(
        texts === 1 && answers.every(({ status }) => status === 200),
        `answered ${answers.map(({ status }) => status).join(' and ')}; on the phone it is there ${times(texts)}`,
      );
    },
  },
  {
    id: 'token-expired',
    title: 'Token expired',
    promise: 'The token is refreshed, once, and the message arrives.',
    async run(world) {
      const before = (await world.crm.calls()).filter(({ route }) => route === 'token').length;
      await world.crm.expireTokens({ locationId: LOCATION });
      const outcome = await once(world, marked('after the token ran out'));
      const refreshes = (await world.crm.calls()).filter(({ route }) => route === 'token').length - before;
      return held(outcome.held && refreshes === 1, `${refreshes} refresh; ${outcome.result}`);
    },
  },
  {
    id: 'emoji-missing',
    title: 'Emoji not found',
    promise:
      'The Mac cannot place the glyph: the CRM hears failed with the reason, and nothing is sent as text instead.',
    async run(world) {
      const said = await world.mac.say(CUSTOMER, { text: 'react to this' });
      await world.mac.change({ faults: [{ job: 'reaction', code: 'EMOJI_NOT_IN_RECENTS', times: 1 }] });
      const message = makeReaction({
        chatId: said.chatId,
        target: said.guid,
        kind: 'emoji',
        emoji: '🦄',
        action: 'add',
      });
      const sent = await world.crm.sendWebhook({ fields: fresh(message) });
      const { code } = await failure(world, sent.messageId);
      return held(code === 'EMOJI_NOT_IN_RECENTS', `status failed with ${code}`);
    },
  },
  {
    id: 'queue-full',
    title: 'Queue full',
    promise:
      'The Mac’s queue holds 500; this one is given two. What does not fit is refused by name, so that the CRM can try later.',
    run: (world) =>
      withSecondMac(world, { FOOTBRIDGE_QUEUE_LIMIT: '2' }, async (slow) => {
        // Until it is told otherwise it sends nothing, so that the line does not move.
        await slow.change({ delayMs: 600_000 });
        const sent: string[] = [];
        for (const place of ['first', 'second', 'third']) {
          const { messageId = '' } = await world.crm.sendWebhook({ fields: fresh(`the ${place} in line`) });
          sent.push(messageId);
        }
        const { code, message: why } = await failure(world, sent.pop());
        await slow.change({ delayMs: 0 });
        for (const messageId of sent) await told(world, messageId, 'delivered');
        return held(
          code === 'RATE_LIMITED',
          `${sent.length} delivered, the third failed with ${code}: ${why}`,
        );
      }),
  },
  {
    id: 'kill-service',
    title: 'Kill the service',
    promise: 'kill -9 in the middle of five messages. After the restart all five are in the CRM, once each.',
    async run(world) {
      const texts = Array.from({ length: 5 }, (_, index) => marked(`survivor ${index + 1} of 5`));
      await world.crm.misbehave({ match: 'inbound', times: 2, how: { answerDelayMs: 400 } });
      for (const text of texts) await world.mac.say(CUSTOMER, { text });
      await until(async () => (await arrived(world, texts[0] ?? '')) > 0, { what: 'the CRM has the first' });
      const started = performance.now();
      await world.service.kill9();
      await world.service.start();
      await until(
        async () =>
          (await Promise.all(texts.map((text) => arrived(world, text)))).every((copies) => copies > 0),
        { what: 'all five reach the CRM' },
      );
      const took = ((performance.now() - started) / 1000).toFixed(1);
      // A copy that comes late would be one too many.
      await new Promise((resolve) => setTimeout(resolve, 500));
      const counts = await Promise.all(texts.map((text) => arrived(world, text)));
      const isRight = counts.every((copies) => copies === 1);
      return held(
        isRight,
        `the service was killed and came back; the CRM has ${isRight ? 'all five once' : counts.map(times).join(', ')}, ${took} s later`,
      );
    },
  },
];
