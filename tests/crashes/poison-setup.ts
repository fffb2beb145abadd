import { setTimeout as sleep } from 'node:timers/promises';

import { Agent } from '@footbridge/testkit/agent';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { startCrm } from '@footbridge/testkit/crm';
import type { Crm } from '@footbridge/testkit/crm';
import { crmEnv } from '@footbridge/testkit/crm-env';
import type { Program } from '@footbridge/testkit/program';
import { seeded } from '@footbridge/testkit/seeded';
import { Service } from '@footbridge/testkit/service';
import { until } from '@footbridge/testkit/until';
import { expect } from 'vitest';

import { authorise, LOCATION, PHONE } from './crash-setup.ts';

export const POISON = 'POISON';
export const WITHIN = { within: 90_000 };

export interface Supervised {
  /** How often the program ended by itself. */
  ends: number;
  env: Record<string, string>;
}

/** Starts a program again whenever it ends by itself, as a supervisor does. */
export function supervise(
  cleanup: Cleanup,
  program: Program & { start(env: Record<string, string>): Promise<void> },
  env: Record<string, string>,
): Supervised {
  const supervised = { ends: 0, env };
  let isDone = false;
  cleanup.add(() => (isDone = true));
  const keepUp = async (): Promise<void> => {
    await program.exited;
    if (isDone) return;
    supervised.ends++;
    await program.start(supervised.env);
    return keepUp();
  };
  void keepUp();
  return supervised;
}

export type PoisonSetup = Awaited<ReturnType<typeof setUp>>;

/** Starts a service, a CRM and an agent. The one with additional settings is started again whenever it ends. */
export async function setUp(
  cleanup: Cleanup,
  settings: { readonly service: Record<string, string> } | { readonly agent: Record<string, string> },
) {
  const [serviceEnv, agentEnv] = 'service' in settings ? [settings.service, {}] : [{}, settings.agent];
  const crm = await startCrm({ settings: { rateLimit: null } });
  cleanup.add(() => crm.stop());
  const env = {
    ...crmEnv(crm),
    CRM_OAUTH_REFRESH_THRESHOLD_SEC: '60',
    CRM_SETTLE_SEC: '1',
    CRM_READ_LAG_SEC: '1',
    RATE_LIMIT_CRM_CALLS: '100000',
    RATE_LIMIT_CRM_WEBHOOK: '100000',
  };
  const service = new Service({ env, readyWithin: 60_000 });
  cleanup.add(() => service.stop());
  await service.start(serviceEnv);
  crm.bridgeUrl = service.url;
  await authorise(crm, service.url);
  const { key } = await service.license();
  const agent = new Agent({
    url: service.url,
    license: key,
    location: LOCATION,
    env: { FOOTBRIDGE_BACKOFF_CAP_SEC: '1', FOOTBRIDGE_ALLOW_LOOPBACK: 'true' },
  });
  cleanup.add(() => agent.stop());
  await agent.start(agentEnv);
  await agent.registered();
  const supervised =
    'service' in settings ? supervise(cleanup, service, serviceEnv) : supervise(cleanup, agent, agentEnv);
  return { crm, service, agent, supervised };
}

/**
 * Kills a program again and again while texts come from both sides. Every text arrives, and no message is set aside. `say` resolves with
 * undefined when the agent did not take the text.
 */
export async function nothingIsSetAside(
  { crm, service, supervised }: PoisonSetup,
  victim: Program & { kill9(): Promise<unknown> },
  {
    kills,
    say,
    restarted,
  }: {
    readonly kills: number;
    readonly say: (handle: string, text: string) => Promise<unknown>;
    readonly restarted: () => Promise<unknown>;
  },
): Promise<void> {
  const said: string[] = [];
  const random = seeded(10);
  for (let kill = 1; kill <= kills; kill++) {
    const endsAfter = performance.now() + 200 + random() * 1500;
    while (performance.now() < endsAfter) {
      const text = `text ${said.length}`;
      if ((await say(`+1415555${1000 + (said.length % 50)}`, text)) !== undefined) said.push(text);
      void crm.sendWebhook({ locationId: LOCATION, phone: PHONE });
    }
    await victim.kill9();
    await until(() => supervised.ends === kill && victim.isRunning, WITHIN);
    await restarted();
  }
  await until(() => new Set(texts(crm)).size === said.length, { ...WITHIN, what: 'every text' });
  for (const kind of ['inbound', 'outbound']) expect(await counted(service, kind)).toBe(0);
}

export const texts = ({ messages }: Crm) => messages.map(({ message }) => message);

/** The sentences of the issue. */
export async function setAside(service: Service): Promise<string[]> {
  const { body } = await service.operator('GET', '/operator/issues').catch(() => ({ body: {} }));
  const issues = Object(body)['issues'] as { kind: string; sentence: string }[] | undefined;
  return (issues ?? []).filter(({ kind }) => kind === 'messages_set_aside').map(({ sentence }) => sentence);
}

export const shownAsIssue = (service: Service, sentence: RegExp) =>
  until(async () => (await setAside(service)).some((one) => sentence.test(one)), {
    within: 120_000,
    every: 500,
    what: 'the issue',
  });

export async function counted(service: Service, kind: string): Promise<number> {
  const text = await (await fetch(`${service.operatorUrl}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`footbridge_set_aside_total{kind="${kind}"}`));
  return Number(line?.split(' ').at(-1));
}

/** Sends a webhook until there is a response, and a Mac. */
export async function sendUntilAnswered(crm: Crm, fields: object) {
  for (;;) {
    const sent = await crm.sendWebhook({ locationId: LOCATION, phone: PHONE, ...fields });
    if (sent.status !== undefined && sent.status !== 404) return sent;
    await sleep(200);
  }
}

export async function redelivered(service: Service, path: string): Promise<number> {
  const { status, body } = await service
    .operator('POST', `${path}/redeliver`)
    .catch(() => ({ status: 0, body: {} }));
  if (status === 202 && path.includes('poison')) expect(body).toMatchObject({ seq: 0 });
  return status;
}
