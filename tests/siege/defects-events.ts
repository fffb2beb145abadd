import { setTimeout as sleep } from 'node:timers/promises';

import { signedRequest } from '@footbridge/testkit/keys';

import { repeat } from './attacks.ts';
import type { Attack } from './attacks.ts';
import { ATTACKER, startStage } from './stage.ts';
import type { Stage } from './stage.ts';

/** As in the documented examples of HighLevel. */
const UNDATED = { timestamp: undefined, webhookId: undefined };
const PHONE = '+14155550142';

async function stateOf(stage: Stage, owner: string): Promise<unknown> {
  const { body } = await stage.service.operator('GET', '/operator/grants');
  const { grants } = body as { grants: { ownerId: string; state: string }[] };
  return grants.find(({ ownerId }) => ownerId === owner)?.state;
}

async function post(stage: Stage, body: object): Promise<number> {
  const answer = await fetch(`${stage.service.url}/crm/webhook`, signedRequest(body, stage.crm.key));
  await answer.arrayBuffer();
  return answer.status;
}

/** Events and webhooks that arrive late, or again. */
export const EVENT_DEFECTS: Readonly<Record<string, Attack>> = {
  'a captured UNINSTALL, 20 times a second': async (stage, cleanup) => {
    stage.crm.forget();
    const event = { type: 'UNINSTALL', locationId: ATTACKER, ...UNDATED };
    repeat(cleanup, 20, () => stage.crm.sendAppEvent(event));
    return {
      async verify() {
        const questions = stage.crm.callsTo('duplicate').length;
        const state = await stateOf(stage, ATTACKER);
        return state !== 'active' || questions > 2
          ? `the grant is ${String(state)} after ${questions} questions`
          : undefined;
      },
    };
  },

  'a captured end of do-not-disturb, also after a restart': async (_stage, cleanup) => {
    const stage = await startStage(cleanup, async () => ({ OPT_OUT_ENFORCED: 'true' }));
    const event = { type: 'ContactDndUpdate', locationId: ATTACKER, phone: PHONE, ...UNDATED };
    await stage.crm.sendAppEvent({ ...event, dnd: true });
    await stage.crm.sendAppEvent({ ...event, dnd: false });
    await stage.service.restart();
    await stage.rejoin();
    await stage.crm.sendAppEvent({ ...event, dnd: false });
    return {
      on: stage,
      async verify() {
        const status = await post(stage, {
          locationId: ATTACKER,
          contactId: 'c1',
          phone: PHONE,
          message: 'Hello',
        });
        return status === 403 ? undefined : `the opt-out ended: ${status}`;
      },
    };
  },

  'a repeated webhook after another Mac has taken over': async (stage) => {
    const messageId = stage.crm.newMessage(ATTACKER);
    const body = { locationId: ATTACKER, contactId: 'c1', phone: PHONE, message: 'Once', messageId };
    const { mac: first } = await stage.device('mac-former', ATTACKER);
    const statuses = [await post(stage, body)];
    const { requestId } = await first.nextFrame('send');
    await first.ack(first.status({ requestId, messageId, status: 'delivered' }));
    const { mac: second } = await stage.device('mac-present', ATTACKER);
    statuses.push(await post(stage, body));
    await second.roundTrip();
    return {
      async verify() {
        const sent = second.frames.filter(({ type }) => type === 'send').length;
        return sent === 0 && statuses.every((status) => status === 200)
          ? undefined
          : `${sent} texts, ${statuses.join(' ')}`;
      },
    };
  },

  'a captured webhook without a messageId, after a restart': async (_stage, cleanup) => {
    const stage = await startStage(cleanup, async () => ({ REPLAY_MEMORY: 'on' }));
    const body = { locationId: ATTACKER, contactId: 'c1', phone: PHONE, message: 'Once' };
    await stage.device('mac-replay', ATTACKER);
    const statuses = [await post(stage, body)];
    await stage.service.restart();
    await stage.rejoin();
    const { mac } = await stage.device('mac-replay', ATTACKER);
    statuses.push(await post(stage, body));
    await sleep(500);
    return {
      on: stage,
      async verify() {
        const sent = mac.frames.filter(({ type }) => type === 'send').length;
        return sent === 0 && statuses.every((status) => status === 200)
          ? undefined
          : `${sent} texts, ${statuses.join(' ')}`;
      },
    };
  },
};
