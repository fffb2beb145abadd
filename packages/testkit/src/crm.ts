import type { Server } from 'node:http';
import { createControl } from './control.ts';
import { AddressBook } from './crm/address-book.ts';
import { Grants } from './crm/grants.ts';
import { Moods } from './crm/moods.ts';
import { operationsOf } from './crm/operations.ts';
import { newId } from './crm/reading.ts';
import { createCrmServer } from './crm/server.ts';
import type {
  Call,
  Contact,
  CrmSettings,
  Install,
  Misbehaviour,
  Mood,
  NewContact,
  Route,
  SentWebhook,
  StatusCall,
  StoredMessage,
  TokenAnswer,
  Upload,
  WebhookFields,
  WebhookOptions,
} from './crm/shapes.ts';
import type { CrmState } from './crm/state.ts';
import { sendSigned, webhookBody } from './crm/webhook-sender.ts';
import { ed25519Key } from './keys.ts';
import type { SigningKey } from './keys.ts';
import { closeHttp, listen } from './loopback.ts';

export type * from './crm/shapes.ts';

export interface CrmOptions {
  port?: number;
  /** Opens the control surface for other processes; 0 takes any port. */
  controlPort?: number;
  host?: string;
  settings?: Partial<CrmSettings>;
  bridgeUrl?: string;
  key?: SigningKey;
  now?: () => number;
}

const DEFAULTS: CrmSettings = {
  // An app id of 24 hex digits, a dash, eight letters, and a UUID: what the real one hands out.
  clientId: '5f0e1d2c3b4a59687766554f-footbrid',
  clientSecret: '3c1a4d2e-7b60-4f58-9a1e-0d5f6b7c8e90',
  expiresInSec: 86_399,
  statusWindowMs: 0,
  strictMessages: false,
  honourIdempotencyKey: false,
  rateLimit: { max: 100, intervalMs: 10_000, daily: 200_000 },
  allowDuplicates: false,
  provider: { kind: 'default' },
  recordCalls: true,
};

export async function startCrm(options: CrmOptions = {}): Promise<Crm> {
  const crm = new Crm(options);
  await crm.open(options);
  return crm;
}

/** A CRM on loopback that behaves like the real one, remembers everything, and fails on request. */
export class Crm {
  /** What it signs its webhooks with. */
  readonly key: SigningKey;
  /** Where webhooks go. */
  bridgeUrl: string | undefined;
  url = '';
  controlUrl: string | undefined;
  readonly #state: CrmState;
  readonly #moods = new Moods();
  readonly #servers: Server[] = [];

  constructor(options: CrmOptions = {}) {
    this.key = options.key ?? ed25519Key('the CRM of the testkit');
    this.bridgeUrl = options.bridgeUrl;
    this.#state = createState({ ...structuredClone(DEFAULTS), ...options.settings }, options.now ?? Date.now);
  }

  async open({ host = '127.0.0.1', port = 0, controlPort }: CrmOptions): Promise<void> {
    const listening = async (server: Server, at: number) => {
      this.#servers.push(server);
      return `http://${host}:${await listen(server, at, host)}`;
    };
    this.url = await listening(createCrmServer(this.#state, this.#moods), port);
    if (controlPort !== undefined)
      this.controlUrl = await listening(createControl(operationsOf(this)), controlPort);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.splice(0).map(closeHttp));
  }

  get tokenUrl(): string {
    return `${this.url}/oauth/token`;
  }

  /** Live: assign to a field and the next call sees it. */
  get settings(): CrmSettings {
    return this.#state.settings;
  }

  get calls(): readonly Call[] {
    return this.#state.calls;
  }

  get messages(): readonly StoredMessage[] {
    return this.#state.messages;
  }

  get statuses(): readonly StatusCall[] {
    return this.#state.statuses;
  }

  get webhooks(): readonly SentWebhook[] {
    return this.#state.webhooks;
  }

  get uploads(): readonly Upload[] {
    return this.#state.uploads;
  }

  get contacts(): readonly Contact[] {
    return this.#state.book.all;
  }

  callsTo(route: Route): Call[] {
    return this.calls.filter((call) => call.route === route);
  }

  statusesOf(messageId: string): StatusCall[] {
    return this.statuses.filter((call) => call.messageId === messageId);
  }

  /** The statuses that took effect, in the order in which they did. */
  accepted(messageId: string): string[] {
    return this.statusesOf(messageId)
      .filter((call) => call.accepted)
      .sort((a, b) => (a.acceptedAs ?? 0) - (b.acceptedAs ?? 0))
      .map((call) => call.status);
  }

  /** Empties the ledgers; grants, contacts and moods stay. */
  forget(): void {
    Object.assign(this.#state, { calls: [], messages: [], statuses: [], webhooks: [], uploads: [] });
  }

  /** Installs the app and gives the OAuth code that its callback would receive. */
  install(what: Install): string {
    return this.#state.grants.install(what);
  }

  /** Installs and exchanges in one step. */
  token(locationId: string): TokenAnswer {
    const answer = this.#state.grants.exchange(this.install({ locationId }));
    if (!answer) throw new Error(`The code for ${locationId} was not accepted.`);
    return answer;
  }

  /** A private integration token. */
  pit(locationId: string): string {
    return this.#state.grants.pit(locationId);
  }

  addContact(contact: NewContact): Contact {
    return this.#state.book.add(contact);
  }

  removeContact(id: string): void {
    this.#state.book.remove(id);
  }

  /** Access tokens of the location are refused from now on; a refresh heals it. */
  expireTokens(locationId: string): void {
    this.#state.grants.expireAll(locationId);
  }

  /** The grant is gone: access and refresh tokens are refused. */
  revoke(locationId: string): void {
    this.#state.grants.revoke(locationId);
  }

  /** An inactive location refuses to refresh, and keeps its refresh token. */
  setActive(locationId: string, active: boolean): void {
    this.#state.grants.setActive(locationId, active);
  }

  misbehave(what: Misbehaviour): Mood {
    return this.#moods.add(what);
  }

  calm(): void {
    this.#moods.calm();
  }

  /** A message of the CRM's own: its status window starts now. */
  newMessage(locationId: string, messageId = newId()): string {
    const createdAt = this.#state.now();
    this.#state.ownMessages.set(messageId, { messageId, locationId, conversationId: newId(), createdAt });
    return messageId;
  }

  async sendWebhook(fields: WebhookFields, options: WebhookOptions = {}): Promise<SentWebhook> {
    const to = options.url ?? this.bridgeUrl;
    if (to === undefined) throw new Error('No bridge to send to: set bridgeUrl, or pass url.');
    const body = webhookBody(fields);
    if (body.messageId !== undefined) this.newMessage(body.locationId, body.messageId);
    return sendSigned(to, body, this.key, options, (sent) => this.#state.webhooks.push(sent));
  }
}

function createState(settings: CrmSettings, now: () => number): CrmState {
  return {
    settings,
    now,
    grants: new Grants(settings, now),
    book: new AddressBook(now),
    ownMessages: new Map(),
    byIdempotencyKey: new Map(),
    calls: [],
    messages: [],
    statuses: [],
    webhooks: [],
    uploads: [],
    acceptances: 0,
  };
}
