import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { Server } from 'node:http';

import { startAgent } from '@footbridge/testkit/agent';
import type { Agent } from '@footbridge/testkit/agent';
import { remoteCrm } from '@footbridge/testkit/crm-remote';
import type { RemoteCrm } from '@footbridge/testkit/crm-remote';
import { Program } from '@footbridge/testkit/program';
import { startService } from '@footbridge/testkit/service';
import type { Service } from '@footbridge/testkit/service';

import { WireLog } from './wire/exchange.ts';
import type { Leg } from './wire/exchange.ts';
import { recordHttp } from './wire/record-http.ts';
import { recordSocket } from './wire/record-socket.ts';

export const LOCATION = 'locDEMO1';
export const CONTACT = 'contactAnna';
export const CUSTOMER = '+15555550100';
export const FRIEND = '+15555550123';

/** The whole demo: the real service, the real agent over a simulated Messages, a CRM like the real one, and a recorder on every leg. */
export interface World {
  readonly wire: WireLog;
  readonly service: Service;
  readonly crm: RemoteCrm;
  readonly crmUrl: string;
  /** With which everybody can check what the CRM signed. */
  readonly crmPublicKey: string;
  /** The Mac that serves the location; `secondMac` starts another one beside it. */
  readonly mac: Agent;
  /** The service as everybody reaches it: through the recorder. */
  readonly publicUrl: string;
  secondMac(): Promise<Agent>;
  stop(): Promise<void>;
}

export interface Ports {
  readonly service: number;
  readonly operator: number;
  readonly crm: number;
}

/** Every step over the public surfaces, one after the other, each told to `step` when it is done. */
export async function startWorld(ports: Ports, step: (name: string, detail: string) => void): Promise<World> {
  const undo: (() => unknown)[] = [];
  const stop = async () => {
    for (let next = undo.pop(); next !== undefined; next = undo.pop()) {
      try {
        await next();
      } catch {
        // It was down already: no reason to leave the rest running.
      }
    }
  };
  try {
    return await compose(ports, step, undo, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function compose(
  ports: Ports,
  step: (name: string, detail: string) => void,
  undo: (() => unknown)[],
  stop: () => Promise<void>,
): Promise<World> {
  const wire = new WireLog();
  const known = { service: '', crm: '' };

  const back = recordHttp(
    wire,
    () => 'service→crm',
    () => known.crm,
  );
  const backUrl = await listen(back, ports.crm, undo);
  const front = recordHttp(wire, frontLeg, () => known.service);
  const socket = recordSocket(wire, () => known.service);
  front.on('upgrade', (request, raw, head) => socket.handleUpgrade(request, raw, head));
  const frontUrl = await listen(front, ports.service, undo);
  undo.push(() => socket.close());

  const crmProgram = new Program('packages/testkit/src/crm-main.ts', undefined);
  undo.push(() => crmProgram.stop());
  crmProgram.launch(['--bridge-url', frontUrl], {});
  const crmReady = await crmProgram.logged('crm ready');
  known.crm = String(crmReady['url']);
  const crm = remoteCrm(String(crmReady['controlUrl']));

  const service = await startService({
    env: {
      HOST: '127.0.0.1',
      ADMIN_PORT: String(ports.operator),
      BASE_URL: frontUrl,
      CRM_HOSTNAME: backUrl,
      CRM_OAUTH_ENABLED: 'true',
      CRM_OAUTH_CLIENT_ID: String(crmReady['clientId']),
      CRM_OAUTH_CLIENT_SECRET: String(crmReady['clientSecret']),
      CRM_OAUTH_TOKEN_URL: `${backUrl}/oauth/token`,
      CRM_OAUTH_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
      CRM_OAUTH_REFRESH_THRESHOLD_SEC: '300',
      MAC_HEARTBEAT_SEC: '5',
      // So that the agent can tap back on any message: the guid stands in its footer.
      FOOTER_ON_PLAIN_TEXT: 'true',
    },
  });
  undo.push(() => service.stop());
  known.service = service.url;
  step('service', frontUrl);

  const key = await service.operator('POST', '/operator/keys', {
    label: 'demo CRM',
    scheme: 'Ed25519',
    header: 'X-CRM-Signature',
    publicKey: crmReady['publicKey'],
  });
  await crm.set({ honourIdempotencyKey: true });
  await crm.addContact({ locationId: LOCATION, id: CONTACT, phone: CUSTOMER, firstName: 'Anna' });
  const code = await crm.install({ locationId: LOCATION });
  await fetch(`${frontUrl}/oauth/callback/crm?code=${encodeURIComponent(code)}`);
  step('CRM (simulated)', `${backUrl}   key ${String(key.body['fingerprint']).slice(0, 12)}… registered`);

  const license = await service.license(2, 'demo');
  const startMac = (name: string) =>
    startAgent({
      url: frontUrl,
      license: license.key,
      location: LOCATION,
      deviceId: `demo-${name}-mac`,
      macos: '26.1',
      env: { FOOTBRIDGE_ALLOW_LOOPBACK: 'true', FOOTBRIDGE_HEARTBEAT_SEC: '5' },
    });
  const mac = await startMac('first');
  undo.push(() => mac.stop());
  await mac.registered();
  step('Mac (simulated)', `bound to ${LOCATION}, seat 1 of 2`);

  return {
    wire,
    service,
    crm,
    crmUrl: backUrl,
    crmPublicKey: String(crmReady['publicKey']),
    mac,
    publicUrl: frontUrl,
    async secondMac() {
      const second = await startMac('second');
      undo.push(() => second.stop());
      return second;
    },
    stop,
  };
}

/** Health checks and assets are not part of the conversation. */
function frontLeg(path: string): Leg | undefined {
  if (path.startsWith('/crm/') || path.startsWith('/oauth/')) return 'crm→service';
  return path.startsWith('/mac/') ? 'mac→service' : undefined;
}

/** On the wanted port, or the next free one. */
export async function listen(server: Server, port: number, undo: (() => unknown)[]): Promise<string> {
  const used = port === 0 ? 0 : await nextFree(port);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(used, '127.0.0.1', resolve);
  });
  undo.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : used}`;
}

const TRIES = 50;

export async function nextFree(port: number): Promise<number> {
  for (let candidate = port; candidate < port + TRIES; candidate++) {
    const probe = createServer();
    const free = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(candidate, '127.0.0.1', () => resolve(true));
    });
    await new Promise((resolve) => probe.close(resolve));
    if (free) return candidate;
  }
  throw new Error(`no free port from ${port} to ${port + TRIES - 1}`);
}
