import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { fileURLToPath } from 'node:url';

import { Agent } from '@footbridge/testkit/agent';
import { remoteCrm } from '@footbridge/testkit/crm-remote';
import type { RemoteCrm } from '@footbridge/testkit/crm-remote';
import { Program } from '@footbridge/testkit/program';
import { Service } from '@footbridge/testkit/service';
import type { Undo } from '@footbridge/testkit/undo';

import { WireLog } from './wire/exchange.ts';
import type { Leg } from './wire/exchange.ts';
import { recordHttp } from './wire/record-http.ts';

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
  /** The Mac that serves the location; `secondMac` starts another one beside it, with settings of its own. */
  readonly mac: Agent;
  /** The service as everybody reaches it: through the recorder. */
  readonly publicUrl: string;
  secondMac(settings: Record<string, string>): Promise<Agent>;
}

export interface Ports {
  readonly service: number;
  readonly operator: number;
  readonly crm: number;
}

type Step = (name: string, detail: string) => void;

/** Both sides know the app before they start, so neither has to wait for the other. */
interface App {
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * Every step over the public surfaces, each told to `step` when it is done. Whatever does not need the other runs side
 * by side. What is started is in `undo` before it runs, so that it can be stopped in the middle.
 */
export async function startWorld(ports: Ports, step: Step, undo: Undo): Promise<World> {
  const wire = new WireLog();
  const known = { service: '', crm: '' };

  const back = recordHttp(
    wire,
    () => 'service→crm',
    () => known.crm,
  );
  const front = recordHttp(wire, frontLeg, () => known.service);
  const crmUrl = await listen(back, ports.crm, undo);
  const publicUrl = await listen(front, ports.service, undo);

  const app = { clientId: `${randomBytes(12).toString('hex')}-footbrid`, clientSecret: randomUUID() };
  const service = new Service({ env: serviceSettings(app, publicUrl, crmUrl, ports.operator) });
  undo.add(() => service.stop());
  const starting = service.start();
  const [crm, { recordSocket }] = await Promise.all([
    startCrm(app, publicUrl, undo),
    import('./wire/record-socket.ts'),
    starting,
  ]);
  const socket = recordSocket(wire, () => known.service);
  undo.add(() => socket.close());
  front.on('upgrade', (request, raw, head) => socket.handleUpgrade(request, raw, head));
  known.crm = crm.url;
  known.service = service.url;
  step('service', publicUrl);

  const license = await service.license(2, 'demo');
  const startMac = async (name: string, settings: Record<string, string> = {}): Promise<Agent> => {
    const mac = new Agent({
      url: publicUrl,
      license: license.key,
      location: LOCATION,
      deviceId: `demo-${name}-mac`,
      macos: '26.1',
      env: {
        ...quickStart(),
        FOOTBRIDGE_ALLOW_LOOPBACK: 'true',
        FOOTBRIDGE_HEARTBEAT_SEC: '5',
        ...settings,
      },
    });
    undo.add(() => mac.stop());
    await mac.start();
    return mac;
  };
  const install = async () => {
    const key = await service.operator('POST', '/operator/keys', {
      label: 'demo CRM',
      scheme: 'Ed25519',
      header: 'X-CRM-Signature',
      publicKey: crm.publicKey,
    });
    await fetch(`${publicUrl}/oauth/callback/crm?code=${encodeURIComponent(crm.code)}`);
    step('CRM (simulated)', `${crmUrl}   key ${String(key.body['fingerprint']).slice(0, 12)}… registered`);
  };
  const [mac] = await Promise.all([startMac('first'), install()]);
  await mac.registered();
  step('Mac (simulated)', `bound to ${LOCATION}, seat 1 of 2`);

  return {
    wire,
    service,
    crm: crm.remote,
    crmUrl,
    crmPublicKey: crm.publicKey,
    mac,
    publicUrl,
    secondMac: (settings) => startMac('second', settings),
  };
}

const COMPILED = fileURLToPath(new URL('../../../node_modules/.cache/footbridge/compiled', import.meta.url));

/** V8 need not compile what it compiled the last time; where coverage is measured it had better. */
function quickStart(): Record<string, string> {
  const { NODE_COMPILE_CACHE = COMPILED, NODE_V8_COVERAGE } = process.env;
  return NODE_V8_COVERAGE === undefined ? { NODE_COMPILE_CACHE } : {};
}

function serviceSettings(
  app: App,
  publicUrl: string,
  crmUrl: string,
  operatorPort: number,
): Record<string, string> {
  return {
    ...quickStart(),
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
    MAC_HEARTBEAT_SEC: '5',
    // So that the agent can tap back on any message: the guid stands in its footer.
    FOOTER_ON_PLAIN_TEXT: 'true',
  };
}

/** A CRM that knows Anna and has installed the app; `code` is what its OAuth callback brings. */
async function startCrm(
  { clientId, clientSecret }: App,
  bridgeUrl: string,
  undo: Undo,
): Promise<{ url: string; remote: RemoteCrm; publicKey: string; code: string }> {
  const program = new Program('packages/testkit/src/crm-main.ts', undefined);
  undo.add(() => program.stop());
  program.launch(
    ['--bridge-url', bridgeUrl, '--client-id', clientId, '--client-secret', clientSecret],
    quickStart(),
  );
  const ready = await program.logged('crm ready');
  const remote = remoteCrm(String(ready['controlUrl']));
  await remote.set({ honourIdempotencyKey: true });
  await remote.addContact({ locationId: LOCATION, id: CONTACT, phone: CUSTOMER, firstName: 'Anna' });
  const code = await remote.install({ locationId: LOCATION });
  return { url: String(ready['url']), remote, publicKey: String(ready['publicKey']), code };
}

/** Health checks and assets are not part of the conversation. */
function frontLeg(path: string): Leg | undefined {
  if (path.startsWith('/crm/') || path.startsWith('/oauth/')) return 'crm→service';
  return path.startsWith('/mac/') ? 'mac→service' : undefined;
}

/** On the wanted port, or the next free one. */
export async function listen(server: Server, port: number, undo: Undo): Promise<string> {
  const used = port === 0 ? 0 : await nextFree(port);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(used, '127.0.0.1', resolve);
  });
  undo.add(() => {
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
