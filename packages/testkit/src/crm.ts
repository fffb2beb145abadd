import type { Server } from 'node:http';
import { ContactStore } from './crm/contact-store.ts';
import { Grants } from './crm/grants.ts';
import { InjectedFaults } from './crm/injected-faults.ts';
import { newId } from './crm/values.ts';
import { createCrmServer } from './crm/server.ts';
import type {
  Call,
  Contact,
  CrmSettings,
  Install,
  FaultRule,
  FaultHandle,
  NewContact,
  Route,
  SentWebhook,
  StatusCall,
  StoredMessage,
  TokenResponse,
  Upload,
  WebhookFields,
  WebhookOptions,
} from './crm/types.ts';
import type { CrmState } from './crm/state.ts';
import { sendSigned, webhookBody } from './crm/webhook-sender.ts';
import { ed25519Key } from './keys.ts';
import type { SigningKey } from './keys.ts';
import { closeHttp, listen } from './loopback.ts';

export type * from './crm/types.ts';

export interface CrmOptions {
  port?: number;
  host?: string;
  settings?: Partial<CrmSettings>;
  bridgeUrl?: string;
  key?: SigningKey;
  now?: () => number;
}

const DEFAULTS: CrmSettings = {
  // The format of HighLevel: an app id of 24 hex digits, a dash and eight letters; the secret is a UUID.
  clientId: '5f0e1d2c3b4a59687766554f-footbrid',
  clientSecret: '3c1a4d2e-7b60-4f58-9a1e-0d5f6b7c8e90',
  expiresInSec: 86_399,
  statusWindowMs: 0,
  strictMessages: false,
  honourIdempotencyKey: false,
  readLagMs: 0,
  clockAheadMs: 0,
  sendsDate: true,
  storesText: 'unchanged',
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

/** A simulated CRM on loopback. It behaves like HighLevel, records every call, and fails on request. */
export class Crm {
  /** The key that signs its webhooks. */
  readonly key: SigningKey;
  /** The destination of its webhooks. */
  bridgeUrl: string | undefined;
  url = '';
  readonly #state: CrmState;
  readonly #faults = new InjectedFaults();
  #server: Server | undefined;

  constructor(options: CrmOptions = {}) {
    this.key = options.key ?? ed25519Key('the CRM of the testkit');
    this.bridgeUrl = options.bridgeUrl;
    this.#state = createState({ ...structuredClone(DEFAULTS), ...options.settings }, options.now ?? Date.now);
  }

  async open({ host = '127.0.0.1', port = 0 }: CrmOptions): Promise<void> {
    this.#server = createCrmServer(this.#state, this.#faults);
    this.url = `http://${host}:${await listen(this.#server, port, host)}`;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server !== undefined) await closeHttp(server);
  }

  get tokenUrl(): string {
    return `${this.url}/oauth/token`;
  }

  /** Mutable: a change applies from the next call on. */
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
    return this.#state.contacts.all;
  }

  callsTo(route: Route): Call[] {
    return this.calls.filter((call) => call.route === route);
  }

  statusesOf(messageId: string): StatusCall[] {
    return this.statuses.filter((call) => call.messageId === messageId);
  }

  /** Returns the accepted statuses of a message, in order of acceptance. */
  accepted(messageId: string): string[] {
    return this.statusesOf(messageId)
      .filter((call) => call.accepted)
      .sort((a, b) => (a.acceptedAs ?? 0) - (b.acceptedAs ?? 0))
      .map((call) => call.status);
  }

  /** Clears the recorded calls, messages, statuses, webhooks and uploads. Grants, contacts and injected faults stay. */
  forget(): void {
    Object.assign(this.#state, { calls: [], messages: [], statuses: [], webhooks: [], uploads: [] });
  }

  /** Installs the app and returns the OAuth code that the callback would receive. */
  install(what: Install): string {
    return this.#state.grants.install(what);
  }

  /** Adds a location to the installation of its company, as an agency does with future sub-accounts. */
  addLocation(companyId: string, locationId: string): void {
    this.#state.grants.addLocation(companyId, locationId);
  }

  /** Sends a signed event about the app, with the time and the id that real events have. */
  async sendAppEvent(fields: Record<string, unknown>, options: WebhookOptions = {}): Promise<SentWebhook> {
    const to = options.url ?? this.bridgeUrl;
    if (to === undefined) throw new Error('No bridge to send to: set bridgeUrl or pass url.');
    const [appId] = this.settings.clientId.split('-');
    const timestamp = new Date(this.#state.now()).toISOString();
    const body = { appId, timestamp, webhookId: newId(), ...fields };
    const raw = JSON.stringify(body);
    return sendSigned(to, { locationId: '' }, this.key, { path: '/crm/events', raw, ...options }, () => {});
  }

  /** Installs the app and exchanges the code for tokens. */
  token(locationId: string): TokenResponse {
    const tokens = this.#state.grants.exchange(this.install({ locationId }));
    if (!tokens) throw new Error(`The code for ${locationId} was not accepted.`);
    return tokens;
  }

  /** Returns a new private integration token. */
  pit(locationId: string): string {
    return this.#state.grants.pit(locationId);
  }

  addContact(contact: NewContact): Contact {
    return this.#state.contacts.add(contact);
  }

  removeContact(id: string): void {
    this.#state.contacts.remove(id);
  }

  /** Expires the access tokens of a location. Its refresh token stays valid. */
  expireTokens(locationId: string): void {
    this.#state.grants.expireAll(locationId);
  }

  /** Revokes the grants of a location: access and refresh tokens become invalid. */
  revoke(locationId: string): void {
    this.#state.grants.revoke(locationId);
  }

  /** While a location is inactive, refreshing fails, but its refresh token stays valid. */
  setActive(locationId: string, active: boolean): void {
    this.#state.grants.setActive(locationId, active);
  }

  injectFault(what: FaultRule): FaultHandle {
    return this.#faults.add(what);
  }

  clearFaults(): void {
    this.#faults.clear();
  }

  /** Creates an outbound message, for which the CRM then accepts status calls. `statusWindowMs` starts now. */
  newMessage(locationId: string, messageId = newId()): string {
    const createdAt = this.#state.now();
    this.#state.sentMessages.set(messageId, { messageId, locationId, conversationId: newId(), createdAt });
    return messageId;
  }

  async sendWebhook(fields: WebhookFields, options: WebhookOptions = {}): Promise<SentWebhook> {
    const to = options.url ?? this.bridgeUrl;
    if (to === undefined) throw new Error('No bridge to send to: set bridgeUrl or pass url.');
    const body = webhookBody(fields);
    const { locationId, messageId } = body;
    // A webhook that is sent again is for the same message.
    if (messageId !== undefined && this.#state.sentMessages.get(messageId)?.locationId !== locationId)
      this.newMessage(locationId, messageId);
    return sendSigned(to, body, this.key, options, (sent) => this.#state.webhooks.push(sent));
  }
}

function createState(settings: CrmSettings, now: () => number): CrmState {
  return {
    settings,
    now,
    grants: new Grants(settings, now),
    contacts: new ContactStore(now),
    sentMessages: new Map(),
    byIdempotencyKey: new Map(),
    calls: [],
    messages: [],
    statuses: [],
    webhooks: [],
    uploads: [],
    acceptances: 0,
  };
}
