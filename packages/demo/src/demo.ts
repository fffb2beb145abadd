import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { Server } from 'node:http';

import { Agent } from '@footbridge/testkit/agent';
import { remoteCrm } from '@footbridge/testkit/crm-remote';
import type { RemoteCrm } from '@footbridge/testkit/crm-remote';
import { Program } from '@footbridge/testkit/program';
import { Service } from '@footbridge/testkit/service';
import type { Cleanup } from '@footbridge/testkit/cleanup';

import { CustomerPhone } from './customer-phone.ts';
import { WireLog } from './wire/exchange.ts';
import type { Leg } from './wire/exchange.ts';
import { recordHttp } from './wire/record-http.ts';

export const LOCATION = 'locDEMO1';
export const CONTACT = 'contactAnna';
export const CUSTOMER = '+15555550100';
export const FRIEND = '+15555550123';
/** A customer of another location. */
export const OTHER_CUSTOMER = '+15555550177';
/** HighLevel ignores `Idempotency-Key`, and so does the CRM of the demo. The page has a switch for it. */
export const CRM_HONOURS_IDEMPOTENCY_KEY = false;

/** The running demo: the service, the agent with simulated Messages, the simulated CRM, and a recording proxy between them. */
export interface Demo {
  readonly wire: WireLog;
  readonly service: Service;
  readonly crm: RemoteCrm;
  readonly crmUrl: string;
  /** Verifies the CRM's signatures. */
  readonly crmPublicKey: string;
  /** The Mac bound to the location. */
  readonly mac: Agent;
  readonly phone: CustomerPhone;
  /** The URL of the service through the recording proxy. */
  readonly publicUrl: string;
  /** Starts a second Mac for the same location or for another one. */
  secondMac(settings: Record<string, string>, location?: string): Promise<Agent>;
  /** Kills the service with kill -9 and starts it again. */
  killService(): Promise<void>;
  /** Returns a link that signs a browser in to the console once. */
  consoleLink(): Promise<string>;
  /** Installs the app at a location and hands its OAuth code to the service. */
  install(locationId: string): Promise<void>;
}

export interface Ports {
  readonly service: number;
  readonly operator: number;
  readonly crm: number;
}

type Step = (name: string, detail: string) => void;

/** The OAuth app. Generated before the start, so that the service and the CRM can start in parallel. */
interface App {
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * Starts the demo through public interfaces only and reports each completed step. Independent steps run in parallel.
 * Every process is registered for cleanup before it starts, so that the start can be interrupted at any time.
 */
export async function startDemo(ports: Ports, step: Step, cleanup: Cleanup): Promise<Demo> {
  const wire = new WireLog();
  const targets = { service: '', crm: '' };

  const back = recordHttp(
    wire,
    () => 'service→crm',
    () => targets.crm,
  );
  const front = recordHttp(wire, frontLeg, () => targets.service);
  const crmUrl = await listen(back, ports.crm, cleanup);
  const publicUrl = await listen(front, ports.service, cleanup);

  const app = { clientId: `${randomBytes(12).toString('hex')}-footbrid`, clientSecret: randomUUID() };
  const service = new Service({ env: serviceSettings(app, publicUrl, crmUrl, ports.operator) });
  cleanup.add(() => service.stop());
  const starting = service.start();
  const [crm, { recordSocket }] = await Promise.all([
    startCrm(app, publicUrl, cleanup),
    import('./wire/record-socket.ts'),
    starting,
  ]);
  const socket = recordSocket(wire, () => targets.service);
  cleanup.add(() => socket.close());
  front.on('upgrade', (request, raw, head) => socket.handleUpgrade(request, raw, head));
  targets.crm = crm.url;
  targets.service = service.url;
  step('service', publicUrl);

  const license = await service.license(2, 'demo');
  const startMac = async (
    name: string,
    settings: Record<string, string> = {},
    location = LOCATION,
  ): Promise<Agent> => {
    const mac = new Agent({
      url: publicUrl,
      license: license.key,
      location,
      deviceId: `demo-${name}-mac`,
      macos: '26.1',
      env: {
        FOOTBRIDGE_ALLOW_LOOPBACK: 'true',
        FOOTBRIDGE_HEARTBEAT_SEC: '5',
        ...settings,
      },
    });
    cleanup.add(() => mac.stop());
    await mac.start();
    return mac;
  };
  const install = async (locationId: string): Promise<void> => {
    const code = await crm.remote.install({ locationId });
    await fetch(`${publicUrl}/oauth/callback/crm?code=${encodeURIComponent(code)}`);
  };
  const connectCrm = async () => {
    const key = await service.operator('POST', '/operator/keys', {
      label: 'demo CRM',
      scheme: 'Ed25519',
      header: 'X-CRM-Signature',
      publicKey: crm.publicKey,
    });
    await install(LOCATION);
    step('CRM (simulated)', `${crmUrl}   key ${String(key.body['fingerprint']).slice(0, 12)}… registered`);
  };
  const record = (tone: 'good' | 'bad', title: string, text: string): void =>
    wire.add({ kind: 'event', n: wire.next(), at: Date.now(), tone, title, text });
  const [mac] = await Promise.all([startMac('first'), connectCrm()]);
  await mac.registered();
  step('Mac (simulated)', `registered for ${LOCATION}, seat 1 of 2`);

  return {
    wire,
    service,
    crm: crm.remote,
    crmUrl,
    crmPublicKey: crm.publicKey,
    mac,
    phone: new CustomerPhone(mac),
    publicUrl,
    secondMac: (settings, location) => startMac('second', settings, location),
    async killService() {
      const { pid } = service;
      await service.kill9();
      record('bad', 'kill -9', `Footbridge was killed (process ${pid})`);
      await service.start();
      record('good', 'restart', `Footbridge is running again (process ${service.pid})`);
    },
    async consoleLink() {
      const { body } = await service.operator('POST', '/operator/session/codes');
      return `${service.operatorUrl}/console#code=${String(body['code'])}`;
    },
    install,
  };
}

function serviceSettings(
  app: App,
  publicUrl: string,
  crmUrl: string,
  operatorPort: number,
): Record<string, string> {
  return {
    HOST: '127.0.0.1',
    ADMIN_PORT: String(operatorPort),
    BASE_URL: publicUrl,
    CRM_HOSTNAME: crmUrl,
    CRM_OAUTH_ENABLED: 'true',
    CRM_OAUTH_CLIENT_ID: app.clientId,
    CRM_OAUTH_CLIENT_SECRET: app.clientSecret,
    CRM_OAUTH_TOKEN_URL: `${crmUrl}/oauth/token`,
    CRM_OAUTH_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    CRM_OAUTH_REFRESH_THRESHOLD_SEC: '300',
    // The simulated CRM has finished a request when its response is lost, and its reads do not lag.
    CRM_SETTLE_SEC: '1',
    CRM_READ_LAG_SEC: '1',
    MAC_HEARTBEAT_SEC: '5',
    // The footer contains the GUID, which the agent needs in order to react to any message.
    FOOTER_ON_PLAIN_TEXT: 'true',
    // The same for the messages that the CRM sent.
    STATUS_WITH_GUID: 'true',
  };
}

/** Starts a CRM with the contact Anna. */
async function startCrm(
  { clientId, clientSecret }: App,
  bridgeUrl: string,
  cleanup: Cleanup,
): Promise<{ url: string; remote: RemoteCrm; publicKey: string }> {
  const program = new Program('testkit/src/crm-main.ts', undefined);
  cleanup.add(() => program.stop());
  program.launch(['--bridge-url', bridgeUrl, '--client-id', clientId, '--client-secret', clientSecret], {});
  const ready = await program.logged('crm ready');
  const remote = remoteCrm(String(ready['controlUrl']));
  await remote.set({ honourIdempotencyKey: CRM_HONOURS_IDEMPOTENCY_KEY });
  await remote.addContact({ locationId: LOCATION, id: CONTACT, phone: CUSTOMER, firstName: 'Anna' });
  return { url: String(ready['url']), remote, publicKey: String(ready['publicKey']) };
}

/** Returns undefined for health checks and assets, which are not recorded. */
function frontLeg(path: string): Leg | undefined {
  if (path.startsWith('/crm/') || path.startsWith('/oauth/')) return 'crm→service';
  return path.startsWith('/mac/') ? 'mac→service' : undefined;
}

/** Listens on the given port or the next free one. */
export async function listen(server: Server, port: number, cleanup: Cleanup): Promise<string> {
  const freePort = port === 0 ? 0 : await nextFree(port);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(freePort, '127.0.0.1', resolve);
  });
  cleanup.add(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : freePort}`;
}

const MAX_PORTS = 50;

export async function nextFree(port: number): Promise<number> {
  for (let candidate = port; candidate < port + MAX_PORTS; candidate++) {
    const probe = createServer();
    const free = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(candidate, '127.0.0.1', () => resolve(true));
    });
    await new Promise((resolve) => probe.close(resolve));
    if (free) return candidate;
  }
  throw new Error(`no free port between ${port} and ${port + MAX_PORTS - 1}`);
}
