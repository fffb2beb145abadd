import { randomBytes } from 'node:crypto';
import { Program, started } from './program.ts';

export interface ServiceOptions {
  /** Settings of the service. Nothing is inherited from the environment of the test. */
  env?: Record<string, string>;
  /** A temporary one unless given; only that one is removed by `stop`. */
  dataDir?: string;
  readyWithin?: number;
}

export interface OperatorAnswer {
  status: number;
  body: Record<string, unknown>;
}

/** The real service as a process of its own, on ports of its own, ready for requests. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const service = new Service(options);
  return started(service, () => service.start());
}

export class Service extends Program {
  /** Ports stay the same over restarts: Macs and CRMs find it again. */
  url = '';
  operatorUrl = '';
  readonly operatorToken: string;
  readonly #options: ServiceOptions;

  constructor(options: ServiceOptions) {
    super('packages/service/src/main.ts', options.dataDir);
    this.#options = options;
    this.operatorToken = options.env?.['OPERATOR_TOKEN'] ?? randomBytes(24).toString('hex');
  }

  /** After `halt` or `kill9`. */
  async start(env: Record<string, string> = {}): Promise<void> {
    this.launch([], {
      PORT: portOf(this.url),
      ADMIN_PORT: portOf(this.operatorUrl),
      DATA_DIR: this.dataDir,
      OPERATOR_TOKEN: this.operatorToken,
      DRAIN_GRACE_SEC: '0',
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

  /** A call to the operator listener: `service.operator('POST', '/operator/licenses', { label, maxSeats })`. */
  async operator(method: string, path: string, body?: unknown): Promise<OperatorAnswer> {
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

  /** A new license: its id, and the key that Macs activate with. */
  async license(maxSeats = 10, label = 'test'): Promise<{ id: string; key: string }> {
    const { status, body } = await this.operator('POST', '/operator/licenses', { label, maxSeats });
    if (status !== 201) throw new Error(`No license: ${status} ${JSON.stringify(body)}`);
    return { id: String(body['id']), key: String(body['key']) };
  }
}

function portOf(url: string): string {
  return url === '' ? '0' : new URL(url).port;
}
