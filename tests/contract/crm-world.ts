import { randomBytes, randomUUID } from 'node:crypto';

import { startCrm } from '@footbridge/testkit/crm';
import type { Crm, CrmSettings, SentWebhook, WebhookFields } from '@footbridge/testkit/crm';
import { activate, connectMac } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { tempDir, createCleanup } from '@footbridge/testkit/cleanup';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { until } from '@footbridge/testkit/until';

import { startBridge } from '../bridge.ts';
import type { RunningBridge } from '../bridge.ts';

export const LOCATION = 'locAAAAAAAAAAAAAAAA1';
export const PHONE = '+14155550100';

export interface CrmWorldOptions {
  readonly env?: Record<string, string>;
  readonly settings?: Partial<CrmSettings>;
  /** `ready` unless told: all six settings are there, and `LOCATION` has authorised us. */
  readonly oauth?: 'ready' | 'unauthorised' | 'off';
}

/** The whole service between a CRM that behaves like the real one and Macs that do as they are told. */
export class CrmWorld {
  readonly crm: Crm;
  /** The time of the service and of the CRM. */
  readonly clock: SkippingClock;
  readonly #env: Record<string, string>;
  readonly #cleanup = createCleanup();
  #bridge: RunningBridge | undefined;
  #licenseKey: string | undefined;

  constructor(crm: Crm, clock: SkippingClock, env: Record<string, string>) {
    this.crm = crm;
    this.clock = clock;
    this.#env = env;
    this.#cleanup.add(() => crm.stop());
  }

  static async start(options: CrmWorldOptions = {}): Promise<CrmWorld> {
    const { oauth = 'ready' } = options;
    const clock = new SkippingClock();
    const crm = await startCrm({
      settings: { rateLimit: null, ...options.settings },
      now: () => clock.now(),
    });
    const world = new CrmWorld(crm, clock, {
      CRM_HOSTNAME: crm.url,
      CRM_PUBLIC_KEY: crm.key.publicKey,
      RATE_LIMIT_CRM_WEBHOOK: '100000',
      // Skipped time must not count as silence of the Macs.
      MAC_HEARTBEAT_SEC: '300',
      ...(oauth !== 'off' && {
        CRM_OAUTH_ENABLED: 'true',
        CRM_OAUTH_CLIENT_ID: crm.settings.clientId,
        CRM_OAUTH_CLIENT_SECRET: crm.settings.clientSecret,
        CRM_OAUTH_TOKEN_URL: crm.tokenUrl,
        CRM_OAUTH_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
        CRM_OAUTH_REFRESH_THRESHOLD_SEC: '300',
      }),
      ...options.env,
    });
    await world.#open();
    if (oauth === 'ready') await world.authorise(LOCATION);
    return world;
  }

  async #open(): Promise<void> {
    const DATA_DIR = this.#env['DATA_DIR'] ?? (await tempDir(this.#cleanup));
    Object.assign(this.#env, { DATA_DIR });
    this.#bridge = await startBridge(this.#env, this.clock);
    this.crm.bridgeUrl = this.#bridge.url;
  }

  get bridge(): RunningBridge {
    if (this.#bridge === undefined) throw new Error('the service is not running');
    return this.#bridge;
  }

  /** Stops the service and starts it on the same data. */
  async restart(env: Record<string, string> = {}): Promise<void> {
    await this.#close();
    Object.assign(this.#env, env);
    await this.#open();
  }

  async stop(): Promise<void> {
    await this.#close();
    await this.#cleanup.run();
  }

  /** A service that stops sends its Macs away one by one, over seconds. */
  async #close(): Promise<void> {
    await this.clock.skipThrough(Promise.resolve(this.#bridge?.stop()));
  }

  async authorise(locationId: string): Promise<void> {
    const code = this.crm.install({ locationId });
    const answer = await fetch(`${this.bridge.url}/oauth/callback/crm?code=${code}`);
    if (answer.status !== 200)
      throw new Error(`the callback answered ${answer.status}: ${await answer.text()}`);
  }

  async operator(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; body: Record<string, unknown> }> {
    const answer = await fetch(this.bridge.operatorUrl + path, {
      method,
      headers: {
        Authorization: `Bearer ${this.bridge.operatorToken}`,
        ...(body && { 'Content-Type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? {} : JSON.parse(text) };
  }

  /** A Mac in service at the location. */
  async mac(locationId = LOCATION, deviceId = `mac-${locationId}`, seq = 1): Promise<Mac> {
    const { deviceToken = '' } = await activate(this.bridge.url, {
      licenseKey: await this.#license(),
      deviceId,
    });
    const mac = await connectMac(this.bridge.url, { token: deviceToken, seq });
    this.#cleanup.add(() => mac.terminate());
    await mac.register(locationId);
    return mac;
  }

  async #license(): Promise<string> {
    if (this.#licenseKey === undefined) {
      const { body } = await this.operator('POST', '/operator/licenses', { label: 'test', maxSeats: 50 });
      this.#licenseKey = String(body['key']);
    }
    return this.#licenseKey;
  }

  /** `undefined` leaves a field out. */
  webhook(fields: { [Name in keyof WebhookFields]?: unknown } = {}): Promise<SentWebhook> {
    const all = { locationId: LOCATION, phone: PHONE, message: 'Hello', ...fields };
    return this.crm.sendWebhook(all as WebhookFields);
  }

  /**
   * Skips that much time, then sends one more message and waits until the CRM hears of it: by then the CRM has heard
   * whatever was to be said before. Needs `LOCATION` to be authorised.
   */
  async settled(skippedMs = 60_000): Promise<void> {
    await this.clock.skip(skippedMs);
    const messageId = `settled-${randomUUID()}`;
    await this.webhook({ messageId });
    await until(() => this.crm.statusesOf(messageId).length > 0);
  }

  get dataDir(): string {
    return this.#env['DATA_DIR'] ?? '';
  }

  /** Everything the service wrote to its log. */
  get log(): string {
    return this.bridge.logs.join('\n');
  }
}
