import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { freePort } from '@footbridge/testkit/ports';
import { Agent, request } from 'undici';

import { startProcess } from './candidate.ts';
import type { Candidate, Credentials } from './candidate.ts';

export interface FootbridgeOptions {
  readonly name?: string;
  /** Additional trusted public keys, PEM. */
  readonly moreKeys?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the Macs confirm every `send` (M10). Default true. */
  readonly confirms?: boolean;
  /** The checkout to start, with installed dependencies. Default: this one. */
  readonly checkout?: URL;
}

const THIS_CHECKOUT = new URL('../../', import.meta.url);
const UNLIMITED = '1000000';

/** Footbridge as shipped, with its own start command, journal, logs and metrics. Only its limits are raised, by settings. */
export function footbridge(options: FootbridgeOptions = {}): Candidate {
  const { name = 'footbridge', moreKeys = [], env = {}, confirms = true, checkout = THIS_CHECKOUT } = options;
  return {
    name,
    async start(start) {
      const [port, adminPort] = [await freePort(), await freePort()];
      const operatorToken = randomBytes(24).toString('hex');
      const keysFile = join(start.folder, 'keys.json');
      await writeFile(keysFile, JSON.stringify(moreKeys.map(asEntry)));
      const service = await startProcess(
        name,
        [
          fileURLToPath(new URL('scripts/run.mjs', checkout)),
          fileURLToPath(new URL('packages/service/src/main.ts', checkout)),
        ],
        {
          PORT: String(port),
          HOST: '127.0.0.1',
          ADMIN_PORT: String(adminPort),
          DATA_DIR: join(start.folder, 'data'),
          DATABASE_URL: `sqlite:${join(start.folder, 'data', 'footbridge.sqlite')}`,
          OPERATOR_TOKEN: operatorToken,
          CRM_HOSTNAME: start.crmUrl,
          CRM_PUBLIC_KEY: start.publicKey,
          ...(moreKeys.length > 0 && { CRM_KEYS_FILE: keysFile }),
          CRM_OAUTH_ENABLED: 'true',
          CRM_OAUTH_CLIENT_ID: 'bench',
          CRM_OAUTH_CLIENT_SECRET: 'bench',
          CRM_OAUTH_TOKEN_URL: `${start.crmUrl}/oauth/token`,
          CRM_OAUTH_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
          CRM_OAUTH_REFRESH_THRESHOLD_SEC: '300',
          RATE_LIMIT_CRM_WEBHOOK: UNLIMITED,
          RATE_LIMIT_UNSIGNED: UNLIMITED,
          RATE_LIMIT_OAUTH_CALLBACK: UNLIMITED,
          RATE_LIMIT_ENROLMENT: UNLIMITED,
          RATE_LIMIT_MAC_SOCKET: UNLIMITED,
          ...env,
        },
        // The operator listener opens last.
        adminPort,
        start,
      );
      const url = `http://127.0.0.1:${port}`;
      const operatorUrl = `http://127.0.0.1:${adminPort}`;
      return {
        ...service,
        name,
        url,
        async enrol(locations) {
          const all = await enrol({ url, operatorUrl, operatorToken }, locations);
          return all.map((credentials) => ({ ...credentials, confirms }));
        },
      };
    },
  };
}

const asEntry = (publicKey: string, index: number) => ({
  label: `bench ${index}`,
  scheme: 'Ed25519',
  header: 'X-CRM-Signature',
  publicKey,
});

interface Addresses {
  readonly url: string;
  readonly operatorUrl: string;
  readonly operatorToken: string;
}

/** Enrols Macs through the public interfaces: one license, a seat per Mac, and a CRM grant per location. */
async function enrol(at: Addresses, locations: readonly string[]): Promise<Credentials[]> {
  const dispatcher = new Agent({ connections: 16 });
  const call = async (
    method: 'GET' | 'POST',
    url: string,
    body?: object,
    headers?: Record<string, string>,
  ) => {
    const response = await request(url, {
      dispatcher,
      method,
      headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.body.text();
    if (response.statusCode >= 300)
      throw new Error(`${method} ${url} failed with ${response.statusCode}: ${text}`);
    return JSON.parse(text) as Record<string, string>;
  };

  const license = await call(
    'POST',
    `${at.operatorUrl}/operator/licenses`,
    { label: 'bench', maxSeats: locations.length },
    { authorization: `Bearer ${at.operatorToken}` },
  );
  const enrolOne = async (locationId: string): Promise<Credentials> => {
    await call('GET', `${at.url}/oauth/callback/crm?code=${locationId}`);
    const { deviceToken = '' } = await call('POST', `${at.url}/mac/activate`, {
      licenseKey: license['key'],
      deviceId: `device-of-${locationId}`,
      name: `Mac of ${locationId}`,
      osVersion: '26.1',
      appVersion: '0.1.0',
    });
    return { locationId, token: deviceToken };
  };

  const credentials: Credentials[] = [];
  for (let from = 0; from < locations.length; from += 32)
    credentials.push(...(await Promise.all(locations.slice(from, from + 32).map(enrolOne))));
  await dispatcher.close();
  return credentials;
}
