import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import { activate } from '@footbridge/testkit/mac';
import { freePort } from '@footbridge/testkit/ports';
import { until } from '@footbridge/testkit/until';

import type { BenchEnvironment } from './environment/environment.ts';
import type { Credentials } from './environment/macs.ts';
import type { Pinning } from './measure/pinning.ts';

/** A bridge implementation to measure. */
export interface Candidate {
  readonly name: string;
  start(options: StartOptions): Promise<CandidateProcess>;
}

export interface StartOptions {
  readonly environment: BenchEnvironment;
  readonly pinning: Pinning;
  /** An empty folder for logs and data. */
  readonly folder: string;
  /** The folder for the V8 CPU profile, if one is requested. */
  readonly profileFolder: string | undefined;
}

export interface CandidateProcess {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  /** Enrols one Mac for each location. */
  enrol(locations: readonly string[]): Promise<Credentials[]>;
  stop(): Promise<void>;
}

interface FootbridgeOptions {
  readonly name?: string;
  /** Additional trusted public keys, PEM. */
  readonly moreKeys?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the Macs confirm every `send` (M10). Default true. */
  readonly confirms?: boolean;
  /** The checkout to start, with installed dependencies. Default: this one. */
  readonly checkout?: URL;
}

const THIS_CHECKOUT = new URL('../', import.meta.url);
const UNLIMITED = '1000000';
const QUIET = '--disable-warning=ExperimentalWarning';
const START_MS = 120_000;
/** The service limits the enrolments of an address that are in progress. */
const AT_ONCE = 16;

/** Settings that lift the limits of the service. */
export const NO_LIMITS = {
  RATE_LIMIT_CRM_WEBHOOK: UNLIMITED,
  RATE_LIMIT_UNSIGNED: UNLIMITED,
  RATE_LIMIT_OAUTH_CALLBACK: UNLIMITED,
  RATE_LIMIT_ENROLMENT: UNLIMITED,
  RATE_LIMIT_MAC_SOCKET: UNLIMITED,
};

/** Footbridge as shipped, with its own start command, journal, logs and metrics. Only its limits are raised, by settings. */
export function footbridge(options: FootbridgeOptions = {}): Candidate {
  const { name = 'footbridge', moreKeys = [], env = {}, confirms = true, checkout = THIS_CHECKOUT } = options;
  return {
    name,
    async start(start) {
      const { folder, environment } = start;
      const [port, adminPort] = [await freePort(), await freePort()];
      const operatorToken = randomBytes(24).toString('hex');
      const keysFile = join(folder, 'keys.json');
      const keys = moreKeys.map((publicKey, index) => ({
        label: `bench ${index}`,
        scheme: 'Ed25519',
        header: 'X-CRM-Signature',
        publicKey,
      }));
      await writeFile(keysFile, JSON.stringify(keys));
      const program = ['scripts/run.mjs', 'packages/service/src/main.ts'];
      const service = await startProcess(
        name,
        program.map((file) => fileURLToPath(new URL(file, checkout))),
        {
          PORT: String(port),
          HOST: '127.0.0.1',
          ADMIN_PORT: String(adminPort),
          DATA_DIR: join(folder, 'data'),
          DATABASE_URL: `sqlite:${join(folder, 'data', 'footbridge.sqlite')}`,
          OPERATOR_TOKEN: operatorToken,
          CRM_HOSTNAME: environment.crmUrl,
          CRM_PUBLIC_KEY: environment.key.publicKey,
          ...(moreKeys.length > 0 && { CRM_KEYS_FILE: keysFile }),
          CRM_OAUTH_ENABLED: 'true',
          CRM_OAUTH_CLIENT_ID: 'bench',
          CRM_OAUTH_CLIENT_SECRET: 'bench',
          CRM_OAUTH_TOKEN_URL: `${environment.crmUrl}/oauth/token`,
          CRM_OAUTH_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
          CRM_OAUTH_REFRESH_THRESHOLD_SEC: '300',
          ...NO_LIMITS,
          ...env,
        },
        // The operator listener opens last.
        adminPort,
        start,
      );
      const url = `http://127.0.0.1:${port}`;
      const operatorUrl = `http://127.0.0.1:${adminPort}`;
      const authorize = async (locationId: string) => {
        const response = await fetch(`${url}/oauth/callback/crm?code=${locationId}`);
        if (!response.ok) throw new Error(`a grant was rejected: ${await response.text()}`);
      };
      return {
        ...service,
        name,
        url,
        async enrol(locations) {
          const all = await enrol({ url, operatorUrl, operatorToken }, locations, authorize);
          return all.map((credentials) => ({ ...credentials, confirms }));
        },
      };
    },
  };
}

export interface Addresses {
  readonly url: string;
  readonly operatorUrl: string;
  readonly operatorToken: string;
}

/** Enrols Macs through the public interfaces: one license, and a seat per Mac. `before` runs before each. */
export async function enrol(
  { url, operatorUrl, operatorToken }: Addresses,
  locations: readonly string[],
  before: (locationId: string) => Promise<void> = () => Promise.resolve(),
): Promise<Credentials[]> {
  const response = await fetch(`${operatorUrl}/operator/licenses`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${operatorToken}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ label: 'bench', maxSeats: locations.length }),
  });
  const { key: licenseKey } = (await response.json()) as { key: string };
  const enrolOne = async (locationId: string): Promise<Credentials> => {
    await before(locationId);
    const { deviceToken, body } = await activate(url, { licenseKey });
    if (deviceToken === undefined) throw new Error(`a Mac was not activated: ${JSON.stringify(body)}`);
    return { locationId, token: deviceToken };
  };
  const credentials: Credentials[] = [];
  for (let from = 0; from < locations.length; from += AT_ONCE)
    credentials.push(...(await Promise.all(locations.slice(from, from + AT_ONCE).map(enrolOne))));
  return credentials;
}

/** The least code that does the work. It accepts any Mac, without licenses and grants. */
function plainFloor(name: string, more: (folder: string) => Record<string, string> = () => ({})): Candidate {
  return {
    name,
    async start(start) {
      const port = await freePort();
      const env = {
        PORT: String(port),
        CRM_URL: start.environment.crmUrl,
        CRM_PUBLIC_KEY: start.environment.key.publicKey,
        ...more(start.folder),
      };
      const program = fileURLToPath(new URL('floor.ts', import.meta.url));
      return {
        ...(await startProcess(name, [program], env, port, start)),
        name,
        url: `http://127.0.0.1:${port}`,
        enrol: (locations) => Promise.resolve(locations.map((locationId) => ({ locationId, token: 'any' }))),
      };
    },
  };
}

export const floor = (name = 'floor') => plainFloor(name);
/** The floor with the fastest available libraries. */
export const fastFloor = () => plainFloor('fast floor', () => ({ FAST_PARTS: 'yes' }));
/** The floor that also records every inbound message on disk, as Footbridge must. */
export const durableFloor = () =>
  plainFloor('durable floor', (folder) => ({ DURABLE: join(folder, 'claims.sqlite') }));

/** Starts `node …args` on the core of the service, with its output in a file. Resolves when it listens on `port`. */
async function startProcess(
  name: string,
  args: readonly string[],
  env: Record<string, string>,
  port: number,
  { folder, pinning, profileFolder, environment: { crmCertificate } }: StartOptions,
): Promise<Pick<CandidateProcess, 'pid' | 'stop'>> {
  const logFile = join(folder, 'output.log');
  const output = openSync(logFile, 'a');
  const child = spawn(...pinning.command('service', process.execPath, args), {
    stdio: ['ignore', output, output],
    env: {
      PATH: process.env['PATH'] ?? '',
      NODE_ENV: 'production',
      NODE_OPTIONS:
        profileFolder === undefined ? QUIET : `${QUIET} --cpu-prof --cpu-prof-dir=${profileFolder}`,
      ...(crmCertificate !== undefined && { NODE_EXTRA_CA_CERTS: crmCertificate }),
      ...env,
    },
  });
  closeSync(output);
  const exited = once(child, 'exit');
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  await until(async () => hasExited() || accepts(port), { within: START_MS, every: 50, what: name });
  if (hasExited() || child.pid === undefined) {
    const lastLines = readFileSync(logFile, 'utf8').trim().split('\n').slice(-10).join('\n');
    throw new Error(`${name} did not start. Its last output:\n${lastLines}`);
  }
  return {
    pid: child.pid,
    async stop() {
      if (hasExited()) return;
      child.kill('SIGTERM');
      await exited;
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
