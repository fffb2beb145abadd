import { startCrm } from '@footbridge/testkit/crm';
import { crmEnv } from '@footbridge/testkit/crm-env';
import type { Crm, CrmSettings } from '@footbridge/testkit/crm';
import { Service } from '@footbridge/testkit/service';
import { createCleanup } from '@footbridge/testkit/cleanup';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import type { TestContext } from 'vitest';

import { startBridge } from '../bridge.ts';
import { ReconnectingMac } from './reconnecting-mac.ts';

export const LOCATION = 'locAAAAAAAAAAAAAAAA1';
export const PHONE = '+14155550100';

export interface CrashSetup {
  readonly crm: Crm;
  readonly mac: ReconnectingMac;
  /** The number of duplicate messages in the CRM. */
  readonly doubled: () => number;
  /** The messages of each chat in the order in which the CRM got them, without duplicates. */
  readonly byChat: () => Map<string, string[]>;
  readonly operator: (path: string) => Promise<Record<string, unknown>>;
}

export interface ServiceSetup extends CrashSetup {
  readonly service: Service;
}

/** Starts the service in a process that is killed at a failpoint, a CRM, and a Mac that keeps unacknowledged frames. */
export async function startWithService(
  cleanup: Cleanup,
  settings: Partial<CrmSettings>,
  failpoints: string,
): Promise<ServiceSetup> {
  const { crm, env } = await openCrm(cleanup, settings);
  const service = new Service({ env, readyWithin: 60_000 });
  cleanup.add(() => service.stop());
  // A failpoint of the tokens would abort the authorisation, so it is set after it.
  const isLater = failpoints.startsWith('oauth.');
  await service.start(isLater ? {} : { FAILPOINTS: failpoints });
  await authorise(crm, service.url);
  const { key } = await service.license();
  if (isLater) await service.restart({ FAILPOINTS: failpoints });
  const operator = async (path: string) => (await service.operator('GET', path)).body;
  return { service, ...(await connectParts(cleanup, crm, service.url, key, operator)) };
}

/** The same with the service in the process of the test. It pauses at a failpoint. */
export async function startInProcess(cleanup: Cleanup, failpoints: string): Promise<CrashSetup> {
  const { crm, env } = await openCrm(cleanup, {});
  const bridge = await startBridge({ ...env, FAILPOINTS: failpoints });
  cleanup.add(() => bridge.stop());
  await authorise(crm, bridge.url);
  const ask = async (path: string, init: RequestInit = {}) => {
    const headers = { Authorization: `Bearer ${bridge.operatorToken}`, 'Content-Type': 'application/json' };
    const answer = await fetch(bridge.operatorUrl + path, { ...init, headers });
    return JSON.parse(await answer.text()) as Record<string, unknown>;
  };
  const body = JSON.stringify({ label: 'test', maxSeats: 5 });
  const { key } = await ask('/operator/licenses', { method: 'POST', body });
  return connectParts(cleanup, crm, bridge.url, String(key), ask);
}

async function openCrm(cleanup: Cleanup, settings: Partial<CrmSettings>) {
  const crm = await startCrm({ settings: { rateLimit: null, ...settings } });
  cleanup.add(() => crm.stop());
  crm.addContact({ locationId: LOCATION, phone: PHONE });
  const env = {
    ...crmEnv(crm),
    CRM_OAUTH_REFRESH_THRESHOLD_SEC: '1',
    RATE_LIMIT_CRM_CALLS: '100000',
    // The CRM of the testkit has handled a request when its response is lost.
    CRM_SETTLE_SEC: '1',
    CRM_READ_LAG_SEC: '1',
  };
  return { crm, env };
}

/** Installs the app. `scopes` defaults to all. */
export async function authorise(crm: Crm, url: string, scopes?: readonly string[]): Promise<void> {
  const code = crm.install({ locationId: LOCATION, ...(scopes && { scopes }) });
  const { status } = await fetch(`${url}/oauth/callback/crm?code=${code}`);
  if (status !== 200) throw new Error(`the callback responded with ${status}`);
}

async function connectParts(
  cleanup: Cleanup,
  crm: Crm,
  url: string,
  licenseKey: string,
  operator: CrashSetup['operator'],
): Promise<CrashSetup> {
  crm.bridgeUrl = url;
  const mac = await ReconnectingMac.start(url, licenseKey, LOCATION);
  cleanup.add(() => mac.stop());
  const texts = () => crm.messages.map(({ message }) => message);
  const doubled = () => texts().length - new Set(texts()).size;
  const byChat = () => {
    const chats = new Map<string, string[]>();
    for (const text of new Set(texts())) {
      const [chat = ''] = text.split(' ');
      chats.set(chat, [...(chats.get(chat) ?? []), text]);
    }
    return chats;
  };
  return { crm, mac, doubled, byChat, operator };
}

/** Makes the Mac report messages in several chats, numbered so that lost and reordered ones can be detected. */
export function writeMessages(mac: ReconnectingMac, chats: number, perChat: number): Map<string, string[]> {
  const written = new Map<string, string[]>();
  for (let number = 0; number < perChat; number++)
    for (let chat = 0; chat < chats; chat++) {
      const text = `chat${chat} message ${number}`;
      written.set(`chat${chat}`, [...(written.get(`chat${chat}`) ?? []), text]);
      mac.keep({
        sender: PHONE,
        text,
        guid: `guid-${chat}-${number}`,
        chat: { id: chat, isGroup: false, recipients: [PHONE] },
      });
    }
  return written;
}

/** Uses the context of the test: the imported `onTestFinished` mixes up the cleanup of concurrent tests. */
export function cleanupOf({ onTestFinished }: Pick<TestContext, 'onTestFinished'>) {
  const cleanup = createCleanup();
  onTestFinished(() => cleanup.run());
  return cleanup;
}
