import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { signedRequest } from '@footbridge/testkit/keys';
import { startHttpReceiver } from '@footbridge/testkit/alert-receivers';
import { until } from '@footbridge/testkit/until';

import { repeat } from './attacks.ts';
import type { Attack } from './attacks.ts';
import { ATTACKER, HONEST, MEMORY_PROBE, startStage } from './stage.ts';
import type { Stage } from './stage.ts';

/** Longer than two checks for issues. */
const ISSUE_MS = 45_000;

async function opened(stage: Stage, kind: string): Promise<boolean> {
  const { body } = await stage.service.operator('GET', '/operator/issues');
  return (body as { issues: { kind: string }[] }).issues.some((issue) => issue.kind === kind);
}

/** Resolves with a fault if the issue is not opened in time. */
const lacks = (stage: Stage, kind: string) =>
  until(() => opened(stage, kind), { within: ISSUE_MS, every: 500 }).then(
    () => undefined,
    () => `no issue ${kind}`,
  );

const CLOCK_AHEAD = `--import=data:text/javascript,${encodeURIComponent(
  'const right = Date.now; Date.now = () => right() + 200 * 86_400_000;',
)}`;

/** Options of Node with which timers of these lengths end sooner. */
function fasterTimers(lengths: Readonly<Record<number, number>>): string {
  const code = `const run = setTimeout, sooner = ${JSON.stringify(lengths)};
    globalThis.setTimeout = (task, ms, ...given) => run(task, sooner[ms] ?? ms, ...given);`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}

/** What a service shows and keeps when a key, a location or the time is wrong. */
export const TIME_DEFECTS: Readonly<Record<string, Attack>> = {
  'a lost encryption key': async (_stage, cleanup) => {
    const stage = await startStage(cleanup);
    await stage.service.restart({ CRM_OAUTH_ENCRYPTION_KEY: randomBytes(32).toString('hex') });
    await stage.rejoin();
    return {
      on: stage,
      async verify() {
        const { body } = await stage.service.operator('GET', '/operator/grants');
        const { grants } = body as { grants: { ownerId: string; state: string; problem: object | null }[] };
        const shown = grants.find(({ ownerId }) => ownerId === ATTACKER);
        return shown?.state === 'unreadable' && shown.problem !== null
          ? await lacks(stage, 'tokens_unreadable')
          : `the grant is ${String(shown?.state)}`;
      },
    };
  },

  'a mistyped location, where CRM_PIT_TOKEN is the only token': async (_stage, cleanup) => {
    const stage = await startStage(cleanup);
    await stage.service.restart({
      LOCATION_CLAIM: 'operator',
      CRM_OAUTH_ENABLED: 'false',
      CRM_PIT_TOKEN: stage.crm.pit(HONEST),
    });
    const mac = await stage.rejoin();
    const phone = '+14155550142';
    stage.crm.addContact({ locationId: HONEST, phone });
    await stage.device('mac-mistyped', `${HONEST}x`).catch(() => {});
    return {
      on: stage,
      async verify() {
        const ack = await mac.ack(mac.received({ sender: phone, text: 'Are you there?' }), 20_000);
        if (ack['outcome'] !== 'delivered') return `the text was ${ack['outcome']}`;
        const path = `/operator/locations/${HONEST}x`;
        const { status } = await stage.service.operator('DELETE', path);
        return status === 204 ? undefined : `the location is not deleted: ${status}`;
      },
    };
  },

  'a Mac that breaks and recovers every second': async (_stage, cleanup) => {
    const receiver = await startHttpReceiver();
    cleanup.add(() => receiver.close());
    const stage = await startStage(cleanup, async () => ({
      ALERT_WEBHOOK_URL: receiver.url,
      ALERT_WEBHOOK_SECRET: `whsec_${randomBytes(32).toString('base64')}`,
      ALERT_ALLOW_PRIVATE: 'true',
      NODE_OPTIONS: `--import ${MEMORY_PROBE} ${fasterTimers({ 15_000: 250, 5000: 250 })}`,
    }));
    const { mac } = await stage.device('mac-flapping', ATTACKER);
    let isSignedIn = true;
    repeat(cleanup, 1, async () => {
      isSignedIn = !isSignedIn;
      mac.send({ type: 'state', messages: { running: true, signedIn: isSignedIn } });
    });
    return {
      on: stage,
      async verify() {
        const { taken } = receiver;
        await until(() => taken.length > 0, { within: 120_000, what: 'an alert' });
        await sleep(10_000);
        return taken.length > 0 && taken.length <= 3 ? undefined : `${taken.length} alerts`;
      },
    };
  },

  'a clock that is 200 days ahead when old data is deleted': async (_stage, cleanup) => {
    const stage = await startStage(cleanup);
    const body = { locationId: HONEST, contactId: 'c1', phone: '+14155550142', message: 'Kept' };
    const response = await fetch(`${stage.service.url}/crm/webhook`, signedRequest(body, stage.crm.key));
    const { requestId } = (await response.json()) as { requestId: string };
    const hourly = fasterTimers({ 3_600_000: 500, 15_000: 250 });
    await stage.service.restart({ NODE_OPTIONS: `--import ${MEMORY_PROBE} ${hourly} ${CLOCK_AHEAD}` });
    await stage.rejoin();
    return {
      on: stage,
      async verify() {
        const issue = await lacks(stage, 'clock_doubtful');
        const { status } = await stage.service.operator('GET', `/operator/messages/${requestId}`);
        return status === 200 ? issue : `the message is gone: ${status}`;
      },
    };
  },
};
