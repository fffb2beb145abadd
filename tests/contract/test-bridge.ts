import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';

import type { SendFrame } from '@footbridge/protocol/frames';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { startCrm } from '@footbridge/testkit/crm';
import type { Crm, CrmSettings, SentWebhook, WebhookFields } from '@footbridge/testkit/crm';
import { signedRequest } from '@footbridge/testkit/keys';
import type { SigningKey } from '@footbridge/testkit/keys';
import { activate, connectMac } from '@footbridge/testkit/mac';
import type { Mac, MacOptions } from '@footbridge/testkit/mac';
import { seeded } from '@footbridge/testkit/seeded';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { until } from '@footbridge/testkit/until';
import { afterAll, afterEach } from 'vitest';

import { startBridge } from '../bridge.ts';
import type { RunningBridge } from '../bridge.ts';
import { checkOperatorResponse } from '../operator-responses.ts';

export const LOCATION = 'locAAAAAAAAAAAAAAAA1';
export const OTHER_LOCATION = 'locBBBBBBBBBBBBBBBB2';
export const PHONE = '+14155550100';
/** Every service calls the listeners of an occurrence in another order. A seed that failed is repeated with `LISTENER_SEED`. */
const LISTENER_SEED = Number(process.env['LISTENER_SEED'] ?? randomInt(2 ** 31));
/** A webhook that is accepted. */
export const GOOD = {
  locationId: LOCATION,
  contactId: 'contact1',
  phone: PHONE,
  message: 'Hello',
  messageId: 'message-1',
};
/** `GOOD` without some of its fields. */
export const without = (...names: string[]): Json =>
  Object.fromEntries(Object.entries(GOOD).filter(([name]) => !names.includes(name)));

export interface TestBridgeOptions {
  readonly env?: Record<string, string>;
  readonly settings?: Partial<CrmSettings>;
  /** Default `ready`: all OAuth settings are present, and `LOCATION` has authorised the app. */
  readonly oauth?: 'ready' | 'unauthorised' | 'off';
  /** No time passes except what the test skips. */
  readonly stoppedClock?: boolean;
}

export type Json = Record<string, unknown>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined when the body is not JSON. */
  readonly json: Json | undefined;
}

export interface PostOptions {
  readonly path?: string;
  readonly key?: SigningKey;
  readonly header?: string;
  readonly headers?: Record<string, string>;
  readonly signature?: string;
  /** Sends the request without a signature. */
  readonly unsigned?: true;
}

/** A message in the operator's journal. */
export interface JournalMessage extends Json {
  readonly steps: readonly { readonly step: string; readonly detail: Json | null }[];
}

/** The whole service, as `npm start` composes it, between the testkit's CRM and its Macs. */
export class TestBridge {
  readonly crm: Crm;
  /** The time of the service and of the CRM. */
  readonly clock: SkippingClock;
  readonly #random = seeded(LISTENER_SEED);
  readonly #env: Record<string, string>;
  readonly #cleanup = createCleanup();
  readonly #macs: Mac[] = [];
  readonly #trusted: string[] = [];
  #bridge: RunningBridge | undefined;
  #licenseKey: string | undefined;

  constructor(crm: Crm, clock: SkippingClock, env: Record<string, string>) {
    this.crm = crm;
    this.clock = clock;
    this.#env = env;
    this.#cleanup.add(() => crm.stop());
  }

  static async start(options: TestBridgeOptions = {}): Promise<TestBridge> {
    const { oauth = 'ready', stoppedClock = false } = options;
    const clock = new SkippingClock({ stopped: stoppedClock });
    const crm = await startCrm({
      settings: { rateLimit: null, ...options.settings },
      now: () => clock.now(),
    });
    const bridge = new TestBridge(crm, clock, {
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
    await bridge.#open();
    if (oauth === 'ready') await bridge.authorise(LOCATION);
    return bridge;
  }

  async #open(): Promise<void> {
    const DATA_DIR = this.#env['DATA_DIR'] ?? (await tempDir(this.#cleanup));
    Object.assign(this.#env, { DATA_DIR });
    this.#bridge = await startBridge(this.#env, {
      clock: this.clock,
      placeListener: (count) => Math.floor(this.#random() * (count + 1)),
    });
    this.crm.bridgeUrl = this.#bridge.url;
  }

  get bridge(): RunningBridge {
    if (this.#bridge === undefined) throw new Error('the service is not running');
    return this.#bridge;
  }

  get url(): string {
    return this.bridge.url;
  }

  /** Stops the service and starts it on the same data. */
  async restart(env: Record<string, string> = {}): Promise<void> {
    await this.close();
    Object.assign(this.#env, env);
    await this.#open();
  }

  async stop(): Promise<void> {
    for (const mac of this.#macs.splice(0)) mac.terminate();
    await this.close();
    await this.#cleanup.run();
  }

  /** Stops the service. It disconnects its Macs one by one, over seconds of its clock. */
  async close(): Promise<void> {
    await this.clock.skipThrough(Promise.resolve(this.#bridge?.stop()));
  }

  /** Removes the state of earlier tests: their Macs, keys, CRM calls, faults and log lines. The Mac of `keep` stays. */
  async reset(keep?: Mac): Promise<void> {
    const others = this.#macs.filter((mac) => mac !== keep);
    this.#macs.splice(0, Infinity, ...(keep === undefined ? [] : [keep]));
    for (const mac of others) mac.terminate();
    for (const id of this.#trusted.splice(0)) await this.operator('DELETE', `/operator/keys/${id}`);
    if (others.length > 0 || keep === undefined)
      await until(async () => (await this.metric('footbridge_macs_bound')) === this.#macs.length);
    await keep?.roundTrip();
    if (keep !== undefined) keep.frames.length = 0;
    this.crm.clearFaults();
    this.crm.forget();
    this.bridge.logs.length = 0;
  }

  async authorise(locationId: string): Promise<void> {
    const code = this.crm.install({ locationId });
    const answer = await fetch(`${this.url}/oauth/callback/crm?code=${code}`);
    if (answer.status !== 200)
      throw new Error(`the callback responded with ${answer.status}: ${await answer.text()}`);
  }

  async operator(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }> {
    const answer = await fetch(this.bridge.operatorUrl + path, {
      method,
      headers: {
        Authorization: `Bearer ${this.bridge.operatorToken}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const json = JSON.parse(text === '' ? '{}' : text) as Json;
    checkOperatorResponse(method, path, answer.status, json);
    return { status: answer.status, body: json };
  }

  /** Returns the sum of a metric over its labels; 0 when it has no samples. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.bridge.operatorUrl}/metrics`)).text();
    const samples = text
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
    return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  /** Waits until the journal has the message, and this step of it. */
  async journalled(requestId: unknown, step: string): Promise<JournalMessage> {
    return until(async () => {
      await this.clock.skip(200);
      const path = `/operator/messages/${encodeURIComponent(String(requestId))}`;
      const answer = await this.operator('GET', path);
      const body = answer.body as JournalMessage;
      return answer.status === 200 && body.steps.some((one) => one.step === step) ? body : undefined;
    });
  }

  /** Trusts one more key, until the next `reset`. Returns its id. */
  async trust(key: SigningKey, more: { locations?: readonly string[] } = {}): Promise<string> {
    const { scheme, header, publicKey } = key;
    const label = `${scheme} ${header}`;
    const added = await this.operator('POST', '/operator/keys', {
      label,
      scheme,
      header,
      publicKey,
      ...more,
    });
    if (added.status !== 201) throw new Error(`not added: ${JSON.stringify(added)}`);
    const id = String(added.body['id']);
    this.#trusted.push(id);
    return id;
  }

  async createLicense(maxSeats = 1000): Promise<{ id: string; key: string }> {
    const { body } = await this.operator('POST', '/operator/licenses', { label: 'Test', maxSeats });
    return { id: String(body['id']), key: String(body['key']) };
  }

  /** Returns a device token of a license, by default the bridge's own one. */
  async token(deviceId: string = `mac-${randomUUID()}`, licenseKey?: string): Promise<string> {
    this.#licenseKey ??= licenseKey ?? (await this.createLicense()).key;
    const { deviceToken, body } = await activate(this.url, {
      licenseKey: licenseKey ?? this.#licenseKey,
      deviceId,
    });
    if (deviceToken === undefined) throw new Error(`not activated: ${JSON.stringify(body)}`);
    return deviceToken;
  }

  /** A Mac that has not registered yet. */
  async connect(options: Partial<MacOptions> = {}): Promise<Mac> {
    const mac = await connectMac(this.url, { ...options, token: options.token ?? (await this.token()) });
    this.#macs.push(mac);
    return mac;
  }

  /** A Mac that is registered for the location. */
  async mac(locationId = LOCATION, deviceId = `mac-${locationId}`, seq = 1): Promise<Mac> {
    const mac = await this.connect({ token: await this.token(deviceId), seq });
    await mac.register(locationId);
    return mac;
  }

  /** Sends a webhook to the location. Returns whether a Mac is connected for it. */
  async reaches(locationId: string, fields: Json = {}): Promise<boolean> {
    const { status, text } = await this.post({ ...GOOD, messageId: undefined, locationId, ...fields });
    if (status !== 200 && status !== 404) throw new Error(`the webhook responded with ${status}: ${text}`);
    return status === 200;
  }

  /** The `send` frames that the connected Macs have received. */
  async sent(): Promise<SendFrame[]> {
    const open = this.#macs.filter((mac) => mac.isOpen);
    await Promise.all(open.map((mac) => mac.roundTrip()));
    return open.flatMap((mac) => mac.frames.filter((frame): frame is SendFrame => frame.type === 'send'));
  }

  /** Sends a webhook as the CRM does. `undefined` leaves a field out. */
  webhook(fields: { [Name in keyof WebhookFields]?: unknown } = {}): Promise<SentWebhook> {
    const all = { locationId: LOCATION, phone: PHONE, message: 'Hello', ...fields };
    return this.crm.sendWebhook(all as WebhookFields);
  }

  /** Posts any body to the webhook, signed with the CRM's key unless told otherwise. */
  async post(body: unknown, options: PostOptions = {}): Promise<Answer> {
    const request = signedRequest(body, options.key ?? this.crm.key, options);
    const headers = options.unsigned
      ? { 'Content-Type': 'application/json', ...options.headers }
      : request.headers;
    return answerOf(await fetch(`${this.url}${options.path ?? '/crm/webhook'}`, { ...request, headers }));
  }

  async fetch(init: RequestInit & { path?: string }): Promise<Answer> {
    return answerOf(await fetch(`${this.url}${init.path ?? '/crm/webhook'}`, init));
  }

  /** Writes bytes to a new connection. Returns everything that comes back until the service closes it. */
  raw(bytes: string | Buffer): Promise<string> {
    return this.#exchange(bytes, () => {});
  }

  /** Writes bytes to a new connection and closes it at once. */
  breakOff(bytes: string | Buffer): Promise<string> {
    return this.#exchange(bytes, (socket) => socket.destroy());
  }

  #exchange(bytes: string | Buffer, written: (socket: Socket) => void): Promise<string> {
    const { hostname, port } = new URL(this.url);
    return new Promise((resolve) => {
      let text = '';
      const socket = connect(Number(port), hostname, () => socket.write(bytes, () => written(socket)));
      const done = () => resolve(text);
      socket.setEncoding('latin1').on('data', (part: string) => (text += part));
      socket.on('close', done).on('error', done);
    });
  }

  /**
   * Skips this much time, then sends one more message and waits until the CRM gets its status: by then the CRM has received
   * all earlier statuses. Needs the location to be authorised.
   */
  async settled(skippedMs = 60_000, locationId = LOCATION): Promise<void> {
    await this.clock.skip(skippedMs);
    const messageId = `settled-${randomUUID()}`;
    await this.webhook({ messageId, locationId });
    await until(() => this.crm.statusesOf(messageId).length > 0);
  }

  /** Every query of the service fails from now on. */
  breakDatabase(): void {
    for (const { name } of this.rows("select name from sqlite_master where type = 'table'"))
      if (!String(name).startsWith('sqlite_'))
        this.rows(`alter table "${String(name)}" rename to "gone_${String(name)}"`);
  }

  /** Runs a statement on the database of the service. */
  rows(sql: string): Json[] {
    const database = new DatabaseSync(join(this.dataDir, 'footbridge.sqlite'));
    try {
      return database.prepare(sql).all();
    } finally {
      database.close();
    }
  }

  get dataDir(): string {
    return this.#env['DATA_DIR'] ?? '';
  }

  /** The complete log of the service. */
  get log(): string {
    return this.bridge.logs.join('\n');
  }
}

/** Returns the `failed` statuses that the CRM received. */
export async function failuresReported(bridge: TestBridge, locationId = LOCATION) {
  await bridge.settled(0, locationId);
  return bridge.crm.calls.filter(
    ({ body, path }) => JSON.stringify(body)?.includes('"failed"') && !path.includes('settled-'),
  );
}

async function answerOf(response: Response): Promise<Answer> {
  const { status, headers } = response;
  const text = await response.text();
  const isJson = text !== '' && headers.get('content-type')?.startsWith('application/json') === true;
  return { status, headers, text, json: isJson ? (JSON.parse(text) as Json) : undefined };
}

const UNLIMITED = {
  RATE_LIMIT_CRM_WEBHOOK: '1000000',
  RATE_LIMIT_UNSIGNED: '1000000',
  RATE_LIMIT_CRM_CALLS: '1000000',
  RATE_LIMIT_ENROLMENT: '1000000',
  RATE_LIMIT_OAUTH_CALLBACK: '1000000',
};

type StartBridge = (options?: TestBridgeOptions) => Promise<TestBridge>;

/**
 * Returns the bridges of a test file: without options one that all tests of the file share, reset for each of them; with
 * options a new one. None of their limits is reached unless the options set it.
 */
export const bridges = (): StartBridge => bridgesWith(async () => undefined);

/** The same, each with a Mac at `LOCATION`. */
export const bridgesWithMac = (): StartBridge => bridgesWith((bridge) => bridge.mac());

function bridgesWith(joinMac: (bridge: TestBridge) => Promise<Mac | undefined>): StartBridge {
  const cleanup = createCleanup();
  let shared: { bridge: TestBridge; mac: Mac | undefined } | undefined;
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') process.stderr.write(`LISTENER_SEED=${LISTENER_SEED}\n`);
    return cleanup.run();
  });
  afterAll(() => shared?.bridge.stop());

  async function start(options: TestBridgeOptions): Promise<{ bridge: TestBridge; mac: Mac | undefined }> {
    const bridge = await TestBridge.start({ ...options, env: { ...UNLIMITED, ...options.env } });
    return { bridge, mac: await joinMac(bridge) };
  }

  return async (options) => {
    if (options !== undefined) {
      const { bridge } = await start(options);
      cleanup.add(() => bridge.stop());
      return bridge;
    }
    if (shared === undefined) shared = await start({});
    else await shared.bridge.reset(shared.mac);
    return shared.bridge;
  };
}
