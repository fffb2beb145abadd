import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

import { SMTPServer } from 'smtp-server';

/** `lose`: takes the request and drops the connection. `huge`: 200 with an endless body. */
export type HttpBehaviour = 'accept' | 'fail' | 'hang' | 'redirect' | 'reset' | 'lose' | 'huge';

export interface ReceivedPost {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An HTTP server that receives alerts. */
export interface HttpReceiver {
  readonly url: string;
  /** What it does with the next requests. */
  behaviour: () => HttpBehaviour;
  /** The requests that it took: those that it responded to with 200, and those of `lose`. */
  readonly taken: ReceivedPost[];
  /** All requests. */
  requests: number;
  /** Bytes of endless bodies that were written. */
  hugeBytes: number;
  close(): Promise<void>;
}

export async function startHttpReceiver(): Promise<HttpReceiver> {
  const server = createServer((request, response) => void handle(request, response));
  const receiver: HttpReceiver = {
    url: await listen(server),
    behaviour: () => 'accept',
    taken: [],
    requests: 0,
    hugeBytes: 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    receiver.requests++;
    const behaviour = receiver.behaviour();
    if (behaviour === 'reset') return void request.socket.resetAndDestroy();
    const body = await text(request);
    if (behaviour === 'hang') return;
    if (behaviour === 'fail') return void response.writeHead(503).end();
    if (behaviour === 'redirect') return void response.writeHead(307, { location: receiver.url }).end();
    receiver.taken.push({ headers: request.headers, body });
    if (behaviour === 'lose') return void request.socket.destroy();
    if (behaviour === 'huge') return writeForever(response);
    response.end('ok');
  }

  function writeForever(response: ServerResponse): void {
    const chunk = Buffer.alloc(65_536);
    const next = () => {
      if (response.destroyed) return;
      receiver.hugeBytes += chunk.length;
      if (response.write(chunk)) setImmediate(next);
      else response.once('drain', next);
    };
    next();
  }

  return receiver;
}

/** `reject`: a temporary error. `drop`: takes the mail and drops the connection. */
export type MailBehaviour = 'accept' | 'reject' | 'drop';

/** A mail server that receives alerts. */
export interface MailServer {
  readonly url: string;
  behaviour: () => MailBehaviour;
  /** The mails that it took, as they were sent. */
  readonly mails: string[];
  /** The passwords that were sent to it. */
  readonly passwords: string[];
  close(): Promise<void>;
}

export async function startMailServer(): Promise<MailServer> {
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    allowInsecureAuth: true,
    onAuth(auth, _session, callback) {
      mail.passwords.push(auth.password ?? '');
      callback(null, { user: auth.username });
    },
    disableReverseLookup: true,
    closeTimeout: 1,
    onData(stream, session, callback) {
      const behaviour = mail.behaviour();
      let content = '';
      stream.setEncoding('utf8').on('data', (part: string) => (content += part));
      stream.on('end', () => {
        if (behaviour === 'reject') return callback(Object.assign(new Error('later'), { responseCode: 451 }));
        mail.mails.push(content);
        if (behaviour === 'accept') return callback();
        for (const connection of server.connections)
          if (connection.session === session) connection._socket.destroy();
      });
    },
  });
  server.on('error', () => {});
  const url = await new Promise<string>((resolve) => {
    const { server: listener } = server;
    server.listen(0, '127.0.0.1', () =>
      resolve(`smtp://127.0.0.1:${(listener.address() as AddressInfo).port}`),
    );
  });
  const mail: MailServer = {
    url,
    behaviour: () => 'accept',
    mails: [],
    passwords: [],
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return mail;
}

function listen(server: ReturnType<typeof createServer>): Promise<string> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`),
    );
  });
}
