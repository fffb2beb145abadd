import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Cleanup } from '@footbridge/testkit/cleanup';
import { startCrm } from '@footbridge/testkit/crm';
import type { Crm } from '@footbridge/testkit/crm';
import { crmEnv } from '@footbridge/testkit/crm-env';
import { signBody } from '@footbridge/testkit/keys';
import { activate, connectMac, joinMac } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { startService } from '@footbridge/testkit/service';
import type { Service } from '@footbridge/testkit/service';

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
  /** Sends webhooks of the honest tenant at a constant rate. */
  honest(seconds: number): Promise<{ sent: number; accepted: number; p99Ms: number }>;
  /** A metric of the service. */
  metric(name: string): Promise<number>;
}

const RATE_PER_SEC = 20;

export async function startStage(cleanup: Cleanup): Promise<Stage> {
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
  const mac = await joinMac(service.url, { licenseKey: honest.key, locationId: HONEST });
  cleanup.add(() => mac.close());

  async function send(number: number): Promise<{ status: number; ms: number }> {
    const body = JSON.stringify({
      locationId: HONEST,
      contactId: 'contact1',
      phone: '+14155550100',
      message: `Message ${number}`,
    });
    const since = performance.now();
    const { status } = await fetch(`${service.url}/crm/webhook`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', [crm.key.header]: signBody(body, crm.key) },
      body,
    }).catch(() => ({ status: 0 }));
    return { status, ms: performance.now() - since };
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
    async honest(seconds) {
      const calls = [];
      for (let number = 0; number < seconds * RATE_PER_SEC; number++) {
        calls.push(send(number));
        mac.frames.length = 0;
        await sleep(1000 / RATE_PER_SEC);
      }
      const results = await Promise.all(calls);
      return {
        sent: results.length,
        accepted: results.filter(({ status }) => status === 200).length,
        p99Ms: quantile(
          results.map(({ ms }) => ms),
          0.99,
        ),
      };
    },
    async metric(name) {
      const text = await (await fetch(`${service.operatorUrl}/metrics`)).text();
      return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
    },
  };
}
