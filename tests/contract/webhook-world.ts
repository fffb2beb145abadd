import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

import type { SendFrame } from '@footbridge/protocol/frames';
import { asLocationId } from '@footbridge/protocol/ids';
import { createLog } from '@footbridge/runtime/log';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { ed25519Key, signedRequest } from '@footbridge/testkit/keys';
import type { SigningKey } from '@footbridge/testkit/keys';

import { createHardenedServer } from '@footbridge/service/edges/http/hardened-server';
import { webhookRoute } from '@footbridge/service/edges/http/webhook-route';
import { receiveWebhook } from '@footbridge/service/flows/outbound/receive-webhook';
import type { OutboundDeps } from '@footbridge/service/flows/outbound/receive-webhook';
import type { JournalEntry, Recorded, StepName } from '@footbridge/service/ports/journal/journal';
import { openKeyRing } from '@footbridge/service/ports/keys/key-ring';
import { openCrmKeys } from '@footbridge/service/ports/keys/keys-sql';
import type { KeyInput } from '@footbridge/service/ports/keys/keys';
import { createMemoryLimits } from '@footbridge/service/ports/limits/limits-memory';
import { createMemorySwitchboard } from '@footbridge/service/ports/switchboard/switchboard-memory';
import { openDatabase } from '@footbridge/service/sql/open-database';

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
  /** Sent as they are, without a signature of ours. */
  readonly unsigned?: true;
}

interface Step {
  readonly entry?: JournalEntry;
  readonly id: string;
  readonly step: StepName;
  readonly recorded: Recorded;
}

export type Report = Parameters<OutboundDeps['reports']['rejected']>[0];
export type World = Awaited<ReturnType<typeof startWorld>>;

export const LOCATION = 'locA1';
export const GOOD = {
  locationId: LOCATION,
  contactId: 'contact1',
  phone: '+14155550100',
  message: 'Hello',
  messageId: 'message-1',
};

const SETTINGS = {
  messageMaxLength: 20_000,
  phoneDefaultCountry: 'US',
  webhookPerMinute: 1_000_000,
  validateLocationId: true,
  unsignedPerMinute: 1_000_000,
};

/** The webhook on a real server with real keys, limits and switchboard; a Mac and a CRM that only listen. */
export async function startWorld(
  settings: Partial<typeof SETTINGS> = {},
  replaced: Partial<Pick<OutboundDeps, 'forwarding' | 'contacts' | 'reports'>> = {},
) {
  const clock = new FakeClock(Date.now());
  const logs: string[] = [];
  const log = createLog('debug', { destination: { write: (line) => void logs.push(line) } });
  const key = ed25519Key('contract');
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  const keys = openCrmKeys(database.db, () => clock.now());
  const ring = await openKeyRing({ stored: keys, fixed: [], clock, log });
  const switchboard = createMemorySwitchboard({ clock });

  const frames: SendFrame[] = [];
  const reports: Report[] = [];
  const steps: Step[] = [];
  const lookUps: [string, string][] = [];
  const phones = new Map<string, string>();
  const learnt: [string, string, string][] = [];

  const receive = receiveWebhook({
    keys: ring,
    limits: createMemoryLimits(clock),
    unsigned: createMemoryLimits(clock),
    contacts: {
      async lookUp(locationId, contactId) {
        lookUps.push([locationId, contactId]);
        return phones.get(contactId);
      },
      learn: (...what) => void learnt.push(what),
    },
    forwarding: switchboard,
    reports: { rejected: (report) => void reports.push(report) },
    journal: {
      open: (entry, step, recorded = {}) => void steps.push({ entry, id: entry.id, step, recorded }),
      step: (id, step, recorded = {}) => void steps.push({ id, step, recorded }),
    },
    clock,
    log,
    failpoint: undefined,
    settings: { ...SETTINGS, ...settings },
    ...replaced,
  });
  const seen: { status: number; code: string }[] = [];
  let address = '203.0.113.7';
  const route = webhookRoute({ receive, onResponse: ({ status, code }) => void seen.push({ status, code }) });
  const server = createHardenedServer((request, response) => {
    if (!route(request, response, address)) response.writeHead(404).end();
  });
  const port = await listen(server);

  const world = {
    url: `http://127.0.0.1:${port}`,
    key,
    keys,
    clock,
    frames,
    reports,
    steps,
    lookUps,
    phones,
    learnt,
    logs,
    seen,
    comeFrom: (other: string) => void (address = other),

    async bind(locationId: string): Promise<void> {
      const location = asLocationId(locationId);
      if (location === undefined) throw new Error('no location');
      await switchboard.bind(location, {
        sessionId: `session-${locationId}`,
        deviceId: `device-${locationId}`,
        write: (frame) => {
          if (frame.type === 'send') frames.push(frame);
          return 'written';
        },
        disconnect() {},
      });
    },

    async trust(input: SigningKey, more: Partial<KeyInput> = {}): Promise<string> {
      const { scheme, header, publicKey } = input;
      const outcome = await keys.add({ label: `${scheme} ${header}`, scheme, header, publicKey, ...more });
      if (outcome.kind !== 'added') throw new Error(`not added: ${JSON.stringify(outcome)}`);
      await ring.reload();
      return outcome.key.id;
    },
    reloadKeys: () => ring.reload(),

    async post(body: unknown, options: PostOptions = {}): Promise<Answer> {
      const request = signedRequest(body, options.key ?? key, options);
      const headers = options.unsigned
        ? { 'Content-Type': 'application/json', ...options.headers }
        : request.headers;
      return answerOf(await fetch(`${world.url}${options.path ?? '/crm/webhook'}`, { ...request, headers }));
    },

    fetch: async (init: RequestInit & { path?: string }): Promise<Answer> =>
      answerOf(await fetch(`${world.url}${init.path ?? '/crm/webhook'}`, init)),

    /** Writes bytes on a socket and returns all that comes back until the other side closes. */
    raw: (bytes: string | Buffer) => exchange(port, bytes, () => {}),

    /** Writes bytes on a socket and breaks it off. */
    breakOff: (bytes: string | Buffer) => exchange(port, bytes, (socket) => socket.destroy()),

    async stop(): Promise<void> {
      ring.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await switchboard.close();
      await database.close();
    },
  };
  await world.trust(key);
  await world.bind(LOCATION);
  return world;
}

async function answerOf(response: Response): Promise<Answer> {
  const { status, headers } = response;
  const text = await response.text();
  const isJson = text !== '' && headers.get('content-type')?.startsWith('application/json') === true;
  return { status, headers, text, json: isJson ? (JSON.parse(text) as Json) : undefined };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function exchange(port: number, bytes: string | Buffer, written: (socket: Socket) => void): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, () => written(socket)));
    const done = () => resolve(text);
    socket.setEncoding('latin1').on('data', (part: string) => (text += part));
    socket.on('close', done).on('error', done);
  });
}
