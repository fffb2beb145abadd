import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

import { closeHttp, listen } from '../loopback.ts';
import { commandOf, textOf, usesPrivateApi, validate } from './commands.ts';
import type { Fields } from './commands.ts';
import type { Command, MessagesHelper } from './messages-helper.ts';
import {
  CallError,
  chatData,
  failure,
  invalid,
  messageData,
  refused,
  success,
  unauthorized,
} from './responses.ts';
import type { Reply } from './responses.ts';
import { DEFAULT_SETTINGS } from './settings.ts';
import type { BlueBubblesFault, BlueBubblesSettings, FaultReply, Route } from './settings.ts';
import type { KnownMessage, StoreReader } from './store-reader.ts';
import { sendInForm } from './wire-forms.ts';

/** A call that reached the server, with the fields that it carried. */
export interface ServerCall {
  readonly route: Route;
  readonly fields: Fields;
}

/** A command that Messages carried out, once per entry. */
export interface PerformedCommand {
  readonly route: Route;
  readonly command: Command;
  readonly guid: string;
}

const TRANSACTION_TIMEOUT_MS = 120_000;
const ROW_TIMEOUT_MS = 60_000;
const NEW_CHAT_ROW_TIMEOUT_MS = 30_000;
const IDLE_TIMEOUT_MS = 300_000;
const ROW_POLL_MS = 250;
const NOT_ON_IMESSAGE = 22;
const HUGE_BYTES = 10_000_000;
const HEADER_LINE_MS = 1_000;

const ROUTES: Readonly<Record<string, Route>> = {
  'GET /api/v1/ping': 'ping',
  'GET /api/v1/server/info': 'info',
  'GET /api/v1/icloud/account': 'account',
  'POST /api/v1/message/text': 'text',
  'POST /api/v1/message/attachment': 'attachment',
  'POST /api/v1/message/react': 'react',
  'POST /api/v1/chat/new': 'new_chat',
};
const READING: ReadonlySet<Route> = new Set(['ping', 'info', 'account']);

type TransportFault = Extract<FaultReply, { send: string }>['send'];

/** The HTTP API of a BlueBubbles server, with its defects. */
export class BlueBubblesServer {
  readonly calls: ServerCall[] = [];
  readonly performed: PerformedCommand[] = [];
  readonly #helper: MessagesHelper;
  readonly #store: StoreReader;
  readonly #http: Server;
  #port = 0;
  #settings = DEFAULT_SETTINGS;
  #faults: BlueBubblesFault[] = [];
  /** The ids of sends that are under way. It is a lock, and forgets an id when its send has ended. */
  #underWay = new Set<string>();
  #helpersBackAt = 0;
  #stalls = Promise.withResolvers<void>();

  constructor(helper: MessagesHelper, store: StoreReader) {
    this.#helper = helper;
    this.#store = store;
    this.#http = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(port = 0): Promise<void> {
    this.#port = await listen(this.#http, port);
  }

  async stop(): Promise<void> {
    await closeHttp(this.#http);
  }

  /** Cuts all connections and listens again after a time. The server forgets what was under way. */
  async restart({ downMs }: { downMs: number }): Promise<void> {
    await this.stop();
    this.#underWay = new Set();
    await sleep(downMs);
    await this.start(this.#port);
  }

  configure(settings: Partial<BlueBubblesSettings>): void {
    this.#settings = { ...this.#settings, ...settings };
  }

  /** Returns to the default settings, and forgets faults and calls. */
  reset(): void {
    this.#settings = DEFAULT_SETTINGS;
    this.heal();
    this.calls.length = 0;
    this.performed.length = 0;
  }

  /** Removes the faults that no call has used up. */
  heal(): void {
    this.#faults = [];
    this.#helpersBackAt = 0;
  }

  /** Ends the stalls of the sends that are under way. */
  endStalls(): void {
    this.#stalls.resolve();
    this.#stalls = Promise.withResolvers<void>();
  }

  /** Adds faults. Each is used up by the next call of its route. */
  fail({ faults }: { faults: readonly BlueBubblesFault[] }): void {
    this.#faults.push(...faults);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    const route = ROUTES[`${request.method} ${url.pathname}`];
    const body = await buffer(request);
    if (route === undefined) {
      const isLanding = url.pathname === '/';
      response.writeHead(isLanding ? 200 : 404, { 'Content-Type': isLanding ? 'text/html' : 'text/plain' });
      response.end(isLanding ? '<html>BlueBubbles</html>' : 'Not Found');
      return;
    }
    const password = ['guid', 'password', 'token'].map((name) => url.searchParams.get(name)).find(Boolean);
    const denied =
      password === undefined
        ? 'Missing server password!'
        : password?.trim() === this.#settings.password.trim()
          ? undefined
          : 'Unauthorized';
    if (denied !== undefined) return this.#send(response, unauthorized(denied));
    const fields = await readFields(request, body);
    this.calls.push({ route, fields: withoutFile(fields) });
    const fault = this.#take(route);
    const reply = await this.#reply(route, fields, fault);
    if (typeof reply === 'string') return sendBroken(response, reply);
    await this.#send(response, reply);
  }

  #send(response: ServerResponse, reply: Reply): Promise<void> {
    return sendInForm(response, reply, this.#settings.wire, () => this.#wait(HEADER_LINE_MS));
  }

  #take(route: Route): BlueBubblesFault {
    const index = this.#faults.findIndex((fault) =>
      fault.route === undefined ? !READING.has(route) : fault.route === route,
    );
    return this.#faults.splice(index, index < 0 ? 0 : 1)[0] ?? {};
  }

  async #reply(route: Route, fields: Fields, fault: BlueBubblesFault): Promise<Reply | TransportFault> {
    try {
      if (!READING.has(route)) return await this.#act(route, fields, fault);
      await this.#wait(fault.stallMs);
      if (fault.reply !== undefined) return await this.#faulty(route, fault.reply);
      return this.#look(route);
    } catch (error) {
      if (error instanceof CallError) return error.reply;
      throw error;
    }
  }

  #look(route: Route): Reply {
    const { appleId, faceTimeHelper, infoFails, osVersion, privateApi, smsForwarding, version } =
      this.#settings;
    if (route === 'ping') return success('Ping received!', 'pong');
    if (route === 'info') {
      if (infoFails)
        throw new CallError(
          failure(500, 'An unhandled error has occurred!', 'Server Error', "reading 'split'"),
        );
      return success('Successfully fetched server information!', {
        computer_id: 'mac',
        os_version: osVersion,
        server_version: version,
        private_api: privateApi,
        proxy_service: 'lan-url',
        helper_connected: this.#helpers() > 0 || faceTimeHelper,
        detected_icloud: appleId,
        detected_imessage: appleId,
      });
    }
    this.#needHelper(route);
    return success('Successfully fetched account info!', {
      apple_id: appleId,
      active_alias: appleId,
      vetted_aliases: appleId === null ? [] : [{ Alias: appleId, Status: 3 }],
      sms_forwarding_enabled: smsForwarding,
      sms_forwarding_capable: smsForwarding,
      login_status_message: appleId === null ? 'Signed out' : 'Connected',
    });
  }

  async #act(route: Route, fields: Fields, fault: BlueBubblesFault): Promise<Reply | TransportFault> {
    validate(route, fields);
    const lock = (route !== 'react' && route !== 'new_chat' && textOf(fields, 'tempGuid')) || '';
    if (lock !== '' && this.#underWay.has(lock))
      throw new CallError(invalid(`Message is already queued to be sent! (Temp GUID: ${lock})`));
    this.#underWay.add(lock);
    try {
      return await this.#perform(route, fields, fault);
    } finally {
      this.#underWay.delete(lock);
    }
  }

  async #perform(route: Route, fields: Fields, fault: BlueBubblesFault): Promise<Reply | TransportFault> {
    await Promise.race([this.#wait(fault.stallMs), this.#stalls.promise]);
    const refuses = fault.reply !== undefined && 'refuse' in fault.reply;
    const isPrivate = usesPrivateApi(route, fields);
    if (isPrivate && !refuses) this.#needHelper(route);
    const command = commandOf(route, fault.plain === true ? withoutThread(fields) : fields, this.#store);
    // The AppleScript path repeats a send that it takes for failed.
    const copies = isPrivate ? Math.max(1, this.#helpers()) : 2;
    const before = this.#guidBefore(fields, fault);
    const has = fault.effect ?? !refuses;
    const guids = Array.from({ length: has ? copies : 0 }, () => this.#command(route, command, fault));
    if (has && fault.againMs !== undefined)
      setTimeout(() => this.#command(route, command, fault), this.#scaled(fault.againMs));
    if (fault.messagesDownMs !== undefined)
      this.#helpersBackAt = performance.now() + this.#scaled(fault.messagesDownMs);
    if (fault.serverDownMs !== undefined) {
      void this.restart({ downMs: this.#scaled(fault.serverDownMs) });
      return 'nothing';
    }
    if (fault.silent === true || fault.messagesDownMs !== undefined) {
      await this.#wait(TRANSACTION_TIMEOUT_MS);
      throw new CallError(refused(route, 'Transaction timeout'));
    }
    if (fault.reply !== undefined) return this.#faulty(route, fault.reply);
    if (fault.early === true) {
      const data = { guid: guids[0] ?? 'none', text: command.text ?? '', error: 0, isFromMe: true };
      return success('Message sent!', data);
    }
    const timeout = route === 'new_chat' ? NEW_CHAT_ROW_TIMEOUT_MS : ROW_TIMEOUT_MS;
    const guid = before ?? guids[0] ?? 'none';
    // On a busy machine a row may take longer than the scaled timeout, which is for rows that a fault delays.
    if ((fault.rowMs ?? 0) < timeout) await this.#helper.written(guid);
    const row = await this.#row(guid, timeout);
    if (row === undefined)
      throw new CallError(refused(route, `Message not found in database after ${timeout / 1000} seconds!`));
    await sleep(this.#settings.replyMs);
    return this.#success(route, row, fields);
  }

  #success(route: Route, row: KnownMessage, fields: Fields): Reply {
    const data = messageData(row, textOf(fields, 'tempGuid'));
    if (route === 'new_chat') {
      const chat = this.#store.chat(row.chatGuid ?? '');
      return success('Successfully created chat!', chat === undefined ? null : chatData(chat, row));
    }
    // The error number was attached, and is lost when the error is wrapped.
    if (row.error !== 0 && route === 'text')
      return refused(route, '[500] Message sent with an error. See attached message');
    const titles: Partial<Record<Route, string>> = { text: 'Message sent!', attachment: 'Attachment sent!' };
    return success(titles[route] ?? 'Reaction sent!', data);
  }

  async #faulty(route: Route, reply: FaultReply): Promise<Reply | TransportFault> {
    if ('refuse' in reply) return refused(route, reply.refuse);
    if (reply.send === 'gateway_timeout') {
      await this.#wait(IDLE_TIMEOUT_MS);
      return failure(
        504,
        'The request timed-out',
        'Gateway Timeout',
        'The request timed-out after 300 seconds',
      );
    }
    if (reply.send === 'data_null') {
      await this.#wait(TRANSACTION_TIMEOUT_MS);
      const error = 'Failed to send message! See attached message error code.';
      const { status, body } = refused(route, error);
      return { status, body: { ...body, data: null } };
    }
    if (reply.send === 'unhandled')
      return failure(500, 'An unhandled error has occurred!', 'Server Error', 'Chat not found');
    if (reply.send === 'invalid') return invalid('The chat is not valid!');
    if (reply.send === 'not_found')
      return failure(404, 'The requested resource was not found', 'Database Error', 'No data');
    if (reply.send === 'data_array') return success('Message sent!', [{ guid: ['none'] }]);
    if (reply.send === 'already_queued')
      return invalid('Message is already queued to be sent! (Temp GUID: x)');
    return reply.send;
  }

  #command(route: Route, command: Command, fault: BlueBubblesFault): string {
    const { notOnIMessage, rowMs, sentMs } = this.#settings;
    const unreachable =
      command.to.service === 'iMessage' &&
      command.to.members.some((handle) => notOnIMessage.includes(handle));
    const { textForm } = fault;
    const { text = '' } = command;
    const written = textForm === undefined ? command : { ...command, text: inForm(textForm, text) };
    const guid = this.#helper.perform(written, {
      rowMs: fault.rowMs === undefined ? rowMs : this.#scaled(fault.rowMs),
      sentMs: fault.sentMs === undefined ? sentMs : this.#scaled(fault.sentMs),
      error: fault.error ?? (unreachable ? NOT_ON_IMESSAGE : 0),
    });
    this.performed.push({
      route,
      command: { ...command, ...(command.file && { file: { ...command.file, base64: '' } }) },
      guid,
    });
    return guid;
  }

  #guidBefore(fields: Fields, { guid }: BlueBubblesFault): string | undefined {
    if (guid === undefined) return undefined;
    const chatGuid = textOf(fields, 'chatGuid') ?? '';
    return this.#store.newestOwn(chatGuid, guid === 'stale' ? 'in' : 'outside')?.guid;
  }

  #needHelper(route: Route): void {
    if (!this.#settings.privateApi)
      throw new CallError(refused(route, 'iMessage Private API is not enabled!'));
    if (this.#helpers() === 0)
      throw new CallError(refused(route, 'iMessage Private API Helper is not connected!'));
  }

  #helpers(): number {
    return performance.now() < this.#helpersBackAt ? 0 : this.#settings.helpers;
  }

  async #row(guid: string, timeoutMs: number): Promise<KnownMessage | undefined> {
    const deadline = performance.now() + this.#scaled(timeoutMs);
    for (;;) {
      const row = this.#store.message(guid);
      if (row !== undefined || performance.now() >= deadline) return row;
      await sleep(Math.max(2, this.#scaled(ROW_POLL_MS)));
    }
  }

  #scaled(ms: number): number {
    return ms * this.#settings.timeScale;
  }

  async #wait(ms = 0): Promise<void> {
    if (ms > 0) await sleep(this.#scaled(ms));
  }
}

async function readFields(request: IncomingMessage, body: Buffer): Promise<Fields> {
  const type = request.headers['content-type'] ?? '';
  if (type.startsWith('application/json')) return JSON.parse(body.toString() || '{}') as Fields;
  if (!type.startsWith('multipart/form-data')) return {};
  const form = await new Response(new Uint8Array(body), { headers: { 'Content-Type': type } }).formData();
  const entries = [...form].map(async ([name, value]): Promise<[string, unknown]> => {
    if (typeof value === 'string') return [name, value];
    return [name, { name: value.name, base64: Buffer.from(await value.arrayBuffer()).toString('base64') }];
  });
  return Object.fromEntries(await Promise.all(entries));
}

function withoutFile({ attachment, ...fields }: Fields): Fields {
  return attachment === undefined ? fields : { ...fields, attachment: 'file' };
}

function withoutThread(fields: Fields): Fields {
  return { ...fields, selectedMessageGuid: undefined };
}

function sendBroken(response: ServerResponse, fault: TransportFault): void {
  if (fault === 'nothing') return void response.destroy();
  if (fault === 'html')
    return void response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>Just a moment</html>');
  if (fault === 'empty') return void response.writeHead(200).end();
  if (fault === 'rate_limited') return void response.writeHead(429, { 'Retry-After': '1' }).end('Slow down');
  if (fault === 'redirect')
    return void response.writeHead(301, { Location: 'https://127.0.0.1/api/v1/ping' }).end();
  response.writeHead(200, { 'Content-Type': 'application/json' });
  if (fault === 'half_json') response.end('{"status":200,"message":"Mess');
  else if (fault === 'not_an_envelope') response.end('[1,2,3]');
  else if (fault === 'empty_object') response.end('{}');
  else if (fault === 'error_in_200')
    response.end(JSON.stringify({ status: 200, error: 'Not sent', data: null }));
  else if (fault === 'endless') response.write('{"status":200,');
  else if (fault === 'reset') response.write('{"status":', () => response.socket?.resetAndDestroy());
  else response.end(`{"status":200,"data":"${'x'.repeat(HUGE_BYTES)}"}`);
}

/** Returns the text as the row has it. */
function inForm(form: NonNullable<BlueBubblesFault['textForm']>, text: string): string {
  if (form === 'decomposed') return text.normalize('NFD');
  // Messages marks the direction of a text, and the emoji form of a symbol.
  return form === 'trimmed' ? text.trim() : `\u2068${text}\uFE0F\u2069`;
}
