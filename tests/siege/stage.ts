import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import type { Cleanup } from '@footbridge/testkit/cleanup';
import { startCrm } from '@footbridge/testkit/crm';
import type { Crm } from '@footbridge/testkit/crm';
import { crmEnv } from '@footbridge/testkit/crm-env';
import { signBody } from '@footbridge/testkit/keys';
import { activate, connectMac, joinMac } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { startService } from '@footbridge/testkit/service';
import type { Service } from '@footbridge/testkit/service';

import type { HonestRequests, SentRequest } from './honest-sender.ts';
import { quantile } from './honest-traffic.ts';

export const HONEST = 'locHonestTenant00001';
export const ATTACKER = 'locAttacker000000001';

/** A service in its own process, its CRM, a tenant with honest traffic, and the license of an attacker. */
export interface Stage {
  readonly crm: Crm;
  readonly service: Service;
  /** The token of a device of the attacker. */
  token(deviceId: string): Promise<string>;
  /** A device of the attacker that is bound to a location. */
  device(deviceId: string, locationId: string): Promise<{ token: string; mac: Mac }>;
  /** Connects the Mac of the honest tenant again, after a restart of the service. */
  rejoin(): Promise<Mac>;
  /** Sends webhooks of the honest tenant at a constant rate. */
  honest(seconds: number): Promise<{ sent: number; accepted: number; p99Ms: number }>;
  /** A metric of the service. */
  metric(name: string): Promise<number>;
  /** Bytes that the service uses, without garbage. */
  memory(): Promise<number>;
}

/** The files of one location. */
export const QUOTA_MB = 20;
const RATE_PER_SEC = 20;

const HONEST_SENDER = new URL('honest-sender.ts', import.meta.url);
export const MEMORY_PROBE = new URL('memory-probe.ts', import.meta.url).href;

/** `envOf` returns settings that replace those of the stage. */
export async function startStage(
  cleanup: Cleanup,
  envOf: (crm: Crm) => Promise<Record<string, string>> = async () => ({}),
): Promise<Stage> {
  const crm = await startCrm({ settings: { rateLimit: null } });
  cleanup.add(() => crm.stop());
  const service = await startService({
    env: {
      ...crmEnv(crm),
      HOST: '127.0.0.1',
      CRM_OAUTH_REFRESH_THRESHOLD_SEC: '60',
      CRM_UPLOAD_ATTACHMENTS: 'true',
      RATE_LIMIT_CRM_WEBHOOK: '1000000',
      RATE_LIMIT_UNSIGNED: '1000000',
      RATE_LIMIT_OAUTH_CALLBACK: '1000000',
      RATE_LIMIT_HEALTH: '1000000',
      ASSET_QUOTA_MB: String(QUOTA_MB),
      NODE_OPTIONS: `--import ${MEMORY_PROBE}`,
      ...(await envOf(crm)),
    },
    readyWithin: 60_000,
  });
  cleanup.add(() => service.stop());
  crm.bridgeUrl = service.url;
  for (const locationId of [HONEST, ATTACKER]) {
    const { status } = await fetch(`${service.url}/oauth/callback/crm?code=${crm.install({ locationId })}`);
    if (status !== 200) throw new Error(`the callback responded with ${status}`);
  }
  const honest = await service.license(10, 'honest');
  const attacker = await service.license(100, 'attacker');
  const join = () => joinMac(service.url, { licenseKey: honest.key, locationId: HONEST });
  let mac = await join();
  cleanup.add(() => mac.terminate());

  function request(number: number): HonestRequests['requests'][number] {
    const body = JSON.stringify({
      locationId: HONEST,
      contactId: 'contact1',
      phone: '+14155550100',
      message: `Message ${number}`,
    });
    const signature = signBody(body, crm.key);
    return { body, headers: { 'Content-Type': 'application/json', [crm.key.header]: signature } };
  }

  const tokens = new Map<string, Promise<string>>();
  async function newToken(deviceId: string): Promise<string> {
    const { deviceToken = '' } = await activate(service.url, { licenseKey: attacker.key, deviceId });
    return deviceToken;
  }
  function tokenOf(deviceId: string): Promise<string> {
    const token = tokens.get(deviceId) ?? newToken(deviceId);
    tokens.set(deviceId, token);
    return token;
  }

  return {
    crm,
    service,
    token: tokenOf,
    async device(deviceId, locationId) {
      const token = await tokenOf(deviceId);
      const device = await connectMac(service.url, { token });
      cleanup.add(() => device.terminate());
      await device.register(locationId);
      return { token, mac: device };
    },
    async rejoin() {
      mac = await join();
      return mac;
    },
    async honest(seconds) {
      const workerData: HonestRequests = {
        url: `${service.url}/crm/webhook`,
        perSec: RATE_PER_SEC,
        requests: Array.from({ length: seconds * RATE_PER_SEC + 1 }, (_, number) => request(number)),
      };
      const worker = new Worker(HONEST_SENDER, { workerData });
      const [results] = (await once(worker, 'message')) as [readonly SentRequest[]];
      mac.frames.length = 0;
      return {
        sent: results.length,
        accepted: results.filter(({ status }) => status === 200).length,
        p99Ms: quantile(
          results.map(({ ms }) => ms),
          0.99,
        ),
      };
    },
    async memory() {
      const line = service.logsNext('memory in use');
      process.kill(service.pid, 'SIGUSR2');
      return Number((await line)['bytes']);
    },
    async metric(name) {
      const text = await (await fetch(`${service.operatorUrl}/metrics`)).text();
      return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
    },
  };
}
