import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { freePort } from './ports.ts';
import { Program, started } from './program.ts';

const SERVICE_MAIN = 'service/src/main.ts';

export interface ServiceOptions {
  /** The path of the program. Default: the service of this checkout. */
  main?: string;
  /** Settings of the service. It does not inherit the environment of the test. */
  env?: Record<string, string>;
  /** Default: a temporary directory, which `stop` removes. */
  dataDir?: string;
  readyWithin?: number;
}

export interface OperatorResponse {
  status: number;
  body: Record<string, unknown>;
}

/** Starts the service in a child process on free ports. Resolves when it is ready. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const service = new Service(options);
  return started(service, () => service.start());
}

export class Service extends Program {
  /** The ports stay the same after a restart, so that Macs and CRMs can reconnect. */
  url = '';
  operatorUrl = '';
  readonly operatorToken: string;
  readonly #options: ServiceOptions;

  constructor(options: ServiceOptions) {
    super(options.main ?? SERVICE_MAIN, options.dataDir);
    this.#options = options;
    this.operatorToken = options.env?.['OPERATOR_TOKEN'] ?? randomBytes(24).toString('hex');
  }

  /** After `halt` or `kill9`. */
  async start(env: Record<string, string> = {}): Promise<void> {
    this.launch([], {
      PORT: await portOf(this.url),
      ADMIN_PORT: await portOf(this.operatorUrl),
      DATA_DIR: this.dataDir,
      DATABASE_URL: `sqlite:${join(this.dataDir, 'footbridge.sqlite')}`,
      OPERATOR_TOKEN: this.operatorToken,
      DRAIN_GRACE_SEC: '0',
      // Tests have several licenses, assign no locations and repeat webhooks.
      LOCATION_CLAIM: 'first',
      REPLAY_MEMORY: 'off',
      ...this.#options.env,
      ...env,
    });
    const ready = await this.logged('ready', this.#options.readyWithin);
    this.url = String(ready['url']);
    this.operatorUrl = String(ready['operatorUrl']);
  }

  async restart(env: Record<string, string> = {}): Promise<void> {
    await this.halt();
    await this.start(env);
  }

  /** Calls the operator API: `service.operator('POST', '/operator/licenses', { label, maxSeats })`. */
  async operator(method: string, path: string, body?: unknown): Promise<OperatorResponse> {
    const response = await fetch(new URL(path, this.operatorUrl), {
      method,
      headers: {
        Authorization: `Bearer ${this.operatorToken}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : { text },
    };
  }

  /** Creates a license and returns its id and key. */
  async license(maxSeats = 10, label = 'test'): Promise<{ id: string; key: string }> {
    const { status, body } = await this.operator('POST', '/operator/licenses', { label, maxSeats });
    if (status !== 201) throw new Error(`License not created: ${status} ${JSON.stringify(body)}`);
    return { id: String(body['id']), key: String(body['key']) };
  }
}

/** Not port 0: the kernel could assign the port to another server before a restart. */
async function portOf(url: string): Promise<string> {
  return url === '' ? String(await freePort()) : new URL(url).port;
}
