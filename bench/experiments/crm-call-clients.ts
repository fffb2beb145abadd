// CPU time of one status call with each HTTP client, over plain HTTP and over TLS. `node bench/experiments/crm-call-clients.ts` prints
// the tables; with a client's name and the server's address as arguments it is the process under measurement.
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import process from 'node:process';
import { connect as connectTls, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';

import { systemClock } from '@footbridge/runtime/clock';
import { create } from 'axios';
import { Agent, Pool, fetch as undiciFetch, request } from 'undici';
import type { Dispatcher } from 'undici';

import { createTransport } from '@footbridge/service/relay/crm/transport-http';
import { findPinning } from '../measure/pinning.ts';
import { ratios, spread } from '../measure/statistics.ts';
import { HttpMessages } from '../environment/http-messages.ts';
import { startWorker, serve } from '../environment/worker.ts';
import type { Worker } from '../environment/worker.ts';
import type { CallServer } from './crm-call-server.ts';
import { createTransport as createOwnTransport } from './own-http-client/transport.ts';

type Call = (path: string) => Promise<unknown>;

const CONCURRENCY = 32;
const BODY = '{"status":"delivered"}';
const HEADERS = {
  authorization: 'Bearer access.benchlocation00001',
  version: '2021-07-28',
  'content-type': 'application/json',
};

const CLIENTS: Record<string, (crmUrl: string) => Call> = {
  'undici request': (crmUrl) => {
    const dispatcher = new Agent({ connections: 256, allowH2: false });
    return async (path) => {
      const answer = await request(crmUrl + path, {
        dispatcher,
        method: 'PUT',
        headers: HEADERS,
        body: BODY,
      });
      await answer.body.dump();
    };
  },
  'undici dispatch': (origin) => {
    const agent = new Agent({ connections: 256, allowH2: false, headersTimeout: 0, bodyTimeout: 0 });
    return (path) => dispatched(agent, { origin, path, method: 'PUT', headers: HEADERS, body: BODY });
  },
  'undici dispatch on a Pool': (crmUrl) => {
    const pool = new Pool(crmUrl, { connections: 256, allowH2: false, headersTimeout: 0, bodyTimeout: 0 });
    const headers = Object.entries(HEADERS).flat();
    return (path) => dispatched(pool, { path, method: 'PUT', headers, body: BODY });
  },
  'undici dispatch, 4 in a pipeline': (origin) => {
    const agent = new Agent({
      connections: 8,
      pipelining: 4,
      allowH2: false,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return (path) =>
      dispatched(agent, {
        origin,
        path,
        method: 'PUT',
        headers: HEADERS,
        body: BODY,
        idempotent: true,
        blocking: false,
      });
  },
  'node:http': (crmUrl) => {
    const isSecure = crmUrl.startsWith('https:');
    const agent = isSecure ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
    return (path) =>
      new Promise((resolve, reject) => {
        (isSecure ? httpsRequest : httpRequest)(
          crmUrl + path,
          { agent, method: 'PUT', headers: HEADERS },
          (answer) => {
            answer.resume().on('end', resolve);
          },
        )
          .on('error', reject)
          .end(BODY);
      });
  },
  fetch: (crmUrl) => async (path) => {
    const answer = await undiciFetch(crmUrl + path, { method: 'PUT', headers: HEADERS, body: BODY });
    await answer.arrayBuffer();
  },
  axios: (crmUrl) => {
    const client = create({
      baseURL: crmUrl,
      httpAgent: new HttpAgent({ keepAlive: true }),
      httpsAgent: new HttpsAgent({ keepAlive: true }),
      headers: HEADERS,
    });
    return (path) => client.put(path, BODY);
  },
  "the service's transport": (origin) => {
    const transport = createTransport({ clock: systemClock });
    const headers = Object.entries(HEADERS).flat();
    return (path) => transport.send({ origin, path, method: 'PUT', headers, body: BODY });
  },
  'own HTTP client': (origin) => {
    const transport = createOwnTransport({ clock: systemClock });
    const headers = Object.entries(HEADERS).flat();
    return (path) => transport.send({ origin, path, method: 'PUT', headers, body: BODY });
  },
  'bare socket': (crmUrl) => {
    const idle: BareSocket[] = [];
    return (path) =>
      new Promise<void>((resolve) => {
        const socket = idle.pop() ?? new BareSocket(crmUrl);
        socket.put(path, () => {
          idle.push(socket);
          resolve();
        });
      });
  },
};

function dispatched(agent: Dispatcher, options: Dispatcher.DispatchOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    agent.dispatch(options, {
      onRequestStart: () => undefined,
      onResponseStart: () => undefined,
      onResponseData: () => undefined,
      onResponseEnd: () => resolve(),
      onResponseError: (_controller, error) => reject(error),
    });
  });
}

/** The lower bound: nothing between the text of the request and the socket. */
class BareSocket {
  readonly #socket: Socket;
  #done = (): void => undefined;

  constructor(url: string) {
    const { hostname: host, port: given, protocol } = new URL(url);
    const port = Number(given);
    this.#socket =
      protocol === 'https:'
        ? connectTls({ host, port, servername: host })
        : connect({ host, port, noDelay: true });
    const messages = new HttpMessages(() => this.#done());
    this.#socket.on('data', (chunk) => messages.push(chunk));
  }

  put(path: string, done: () => void): void {
    this.#done = done;
    this.#socket.write(
      `PUT ${path} HTTP/1.1\r\nHost: crm\r\nauthorization: ${HEADERS.authorization}\r\nversion: ${HEADERS.version}\r\n` +
        `content-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
    );
  }
}

const clientCalls = (call: Call) => ({
  /** Returns the CPU time of this process per call, in microseconds. */
  async run(count: number): Promise<number> {
    let next = 0;
    const before = process.cpuUsage();
    const worker = async () => {
      while (next < count) await call(`/conversations/messages/experiment${next++}/status`);
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, worker));
    const { user, system } = process.cpuUsage(before);
    return (user + system) / count;
  },
});

async function compare(): Promise<void> {
  const pinning = findPinning();
  const server = startWorker<CallServer>(new URL('crm-call-server.ts', import.meta.url), pinning);
  const { http, https, cert } = await server.call('listen');
  for (const crmUrl of [http, https]) {
    const parts = Object.keys(CLIENTS).map(
      (name): [string, Worker<ReturnType<typeof clientCalls>>, number[]] => [
        name,
        startWorker(new URL(import.meta.url), pinning, 'service', [name, crmUrl, cert]),
        [],
      ],
    );
    const opened = new Map<string, number>();
    for (const [name, part] of parts) {
      await server.call('connections');
      await part.call('run', 5_000);
      opened.set(name, await server.call('connections'));
    }
    for (let round = 0; round < 12; round++)
      for (const [, part, micros] of parts) micros.push(await part.call('run', 1_000));
    const [first] = parts;
    console.log(
      `\n${new URL(crmUrl).protocol}  CPU per call, ratio to the first, connections for 5,000 calls`,
    );
    for (const [name, part, micros] of parts) {
      const ratio = spread(ratios(micros, first?.[2] ?? []));
      console.log(
        `${name.padEnd(34)} ${spread(micros).median.toFixed(0).padStart(4)} µs  ${ratio.median.toFixed(2)} (${ratio.q1.toFixed(2)}–${ratio.q3.toFixed(2)})  ${opened.get(name)}`,
      );
      await part.stop();
    }
  }
  await server.stop();
}

const [, , name, crmUrl, cert] = process.argv;
const client = name === undefined ? undefined : CLIENTS[name];
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (client !== undefined && crmUrl !== undefined && cert !== undefined) {
    setDefaultCACertificates([cert]);
    serve(clientCalls(client(crmUrl)));
  } else await compare();
}
