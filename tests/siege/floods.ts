import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { newRequestId } from '@footbridge/protocol/ids';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { connectMac } from '@footbridge/testkit/mac';
import { signedRequest } from '@footbridge/testkit/keys';

import { hold, repeat } from './attacks.ts';
import type { Attack } from './attacks.ts';
import { ATTACKER } from './stage.ts';
import type { Stage } from './stage.ts';

const HOST = 'Host: a\r\n';
const upgrade = (token: string) =>
  `GET /mac/socket HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: footbridge.v1\r\nAuthorization: Bearer ${token}\r\n\r\n`;

/** A masked WebSocket frame with a mask of zeros. */
function frame(first: number, payload: Buffer): Buffer {
  const { length } = payload;
  const size = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([first, ...size, 0, 0, 0, 0]), payload]);
}

/** Announces the capability to confirm messages, so that the service resends unconfirmed ones. */
const REGISTER = frame(
  0x81,
  Buffer.from(
    JSON.stringify({
      type: 'register',
      locationId: ATTACKER,
      agent: { version: '0.1.0' },
      os: { name: 'macOS', version: '26.1' },
      capabilities: ['received'],
    }),
  ),
);

const PING = frame(0x89, Buffer.alloc(125));
const PONG = frame(0x8a, Buffer.alloc(0));
/** A text in 64 fragments of a byte. */
const FRAGMENTS = Buffer.concat([
  frame(0x01, Buffer.from('{')),
  ...Array.from({ length: 62 }, () => frame(0x00, Buffer.from(' '))),
  frame(0x80, Buffer.from('}')),
]);

/** Connects as a Mac with bytes of its own, and writes as fast as the service reads. */
function pour(stage: Stage, cleanup: Cleanup, token: string, bytes: Buffer): void {
  const { hostname, port } = new URL(stage.service.url);
  const socket = connect(Number(port), hostname);
  cleanup.add(() => socket.destroy());
  const write = () => {
    if (!socket.destroyed && socket.write(bytes)) setTimeout(write, 5);
  };
  socket.on('error', () => undefined).on('drain', () => setTimeout(write, 5));
  socket.resume().write(upgrade(token));
  write();
}

async function post(stage: Stage, path: string, body: string): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  await (await fetch(stage.service.url + path, { method: 'POST', headers, body })).text();
}

/** Adds requests of the attacker to the journal, as if the webhook had been repeated for hours. */
function addRequests({ service }: Stage, messageId: string, count: number): void {
  const database = new DatabaseSync(join(service.dataDir, 'footbridge.sqlite'));
  const at = Date.now() - 3_600_000;
  database
    .prepare(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
      INSERT INTO messages (id, direction, location_id, message_id, kind, status, length, created_at, updated_at, steps)
      SELECT ? || n, 'outbound', ?, ?, 'text', 'accepted', 1, ? + n, ? + n, '[[1,"accepted"]]' FROM numbers`,
    )
    .run(count, `${messageId}-`, ATTACKER, messageId, at, at);
  database.close();
}

/** Attacks of strangers and Macs that are not among the known defects. */
export const FLOODS: Readonly<Record<string, Attack>> = {
  'rejected upgrades that stay open': async (stage, cleanup) => {
    repeat(cleanup, 300, () => hold(stage, cleanup, upgrade('x')));
  },

  'half-open sockets of a Mac': async (stage, cleanup) => {
    const token = await stage.token('mac-half-open');
    repeat(cleanup, 100, () => hold(stage, cleanup, upgrade(token)));
  },

  'a flood of pings': async (stage, cleanup) => {
    const token = await stage.token('mac-pings');
    repeat(cleanup, 5, () => pour(stage, cleanup, token, Buffer.concat(Array(500).fill(PING))));
  },

  'a flood of pongs': async (stage, cleanup) => {
    const token = await stage.token('mac-pongs');
    repeat(cleanup, 5, () => pour(stage, cleanup, token, Buffer.concat(Array(10_000).fill(PONG))));
  },

  'fragments of one byte': async (stage, cleanup) => {
    const token = await stage.token('mac-fragments');
    repeat(cleanup, 5, () => pour(stage, cleanup, token, Buffer.concat(Array(100).fill(FRAGMENTS))));
  },

  'statuses that a Mac repeats without end': async (stage, cleanup) => {
    const { mac } = await stage.device('mac-repeats', ATTACKER);
    const requestId = newRequestId(Date.now() - 600_000);
    repeat(cleanup, 100, () => {
      if (!mac.isOpen) return;
      mac.frames.length = 0;
      for (let number = 0; number < 10; number++)
        mac.status({ requestId, messageId: null, status: 'delivered' });
    });
  },

  'large frames of unknown types': async (stage, cleanup) => {
    const { token } = await stage.device('mac-unknown', 'locUnknown');
    const news = `{"type":"news","deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    repeat(cleanup, 5, async () => {
      const mac = await connectMac(stage.service.url, { token });
      await mac.register('locUnknown');
      for (let number = 0; number < 20; number++) mac.sendRaw(news);
    });
  },

  'unsigned bodies of a megabyte that take long to parse': async (stage, cleanup) => {
    const body = `{"a":[${'"bb",'.repeat(131_000)}1]}`;
    repeat(cleanup, 100, () => post(stage, '/crm/webhook', body));
  },

  'unsigned bodies of small objects': async (stage, cleanup) => {
    const body = `[${Array.from({ length: 11_000 }, (_, index) => `{"name${index}":${'1'.repeat(60)}}`).join(',')}]`;
    repeat(cleanup, 100, () => post(stage, '/crm/webhook', body));
  },

  'bodies in chunks of one byte': async (stage, cleanup) => {
    const head = `POST /crm/webhook HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`;
    const chunks = '1\r\nx\r\n'.repeat(100_000);
    repeat(cleanup, 10, () => hold(stage, cleanup, head + chunks));
  },

  'pipelined requests': async (stage, cleanup) => {
    const many = `POST /crm/webhook HTTP/1.1\r\n${HOST}Content-Length: 2\r\n\r\n{}`.repeat(500);
    repeat(cleanup, 50, () => hold(stage, cleanup, many));
  },

  'headers of 16 kB and 100 fields': async (stage, cleanup) => {
    const fields = Array.from({ length: 99 }, (_, index) => `X-${index}: ${'y'.repeat(150)}\r\n`).join('');
    repeat(cleanup, 100, () => hold(stage, cleanup, `GET /health HTTP/1.1\r\n${HOST}${fields}\r\n`));
    repeat(cleanup, 100, () =>
      hold(stage, cleanup, `GET /health HTTP/1.1\r\n${HOST}X: ${'y'.repeat(50_000)}`),
    );
  },

  'slow reads of every route': async (stage, cleanup) => {
    const paths = [
      '/health',
      '/mac/socket',
      '/assets/a/b',
      '/oauth/callback/crm',
      '/nothing',
      '/crm/webhook',
    ];
    let number = 0;
    repeat(cleanup, 100, () =>
      hold(stage, cleanup, `GET ${paths[number++ % paths.length] ?? '/'} HTTP/1.1\r\n${HOST}\r\n`.repeat(30)),
    );
  },

  'uploads that announce more or less than they send': async (stage, cleanup) => {
    const { token } = await stage.device('mac-lies', 'locLies');
    const lengths = [1, 99_999_999, 100_000_001];
    let number = 0;
    repeat(cleanup, 50, () =>
      hold(
        stage,
        cleanup,
        `POST /mac/assets HTTP/1.1\r\n${HOST}Authorization: Bearer ${token}\r\nContent-Length: ${lengths[number++ % 3] ?? 1}\r\n\r\n${'x'.repeat(50_000)}`,
      ),
    );
  },

  'a Mac that reconnects and confirms nothing': async (stage, cleanup) => {
    const token = await stage.token('mac-unconfirmed');
    const mac = await connectMac(stage.service.url, { token });
    cleanup.add(() => mac.terminate());
    await mac.register(ATTACKER, { capabilities: ['received'] });
    const webhook = { locationId: ATTACKER, contactId: 'c', phone: '+14155550100', message: 'Hi' };
    for (let sent = 0; sent < 500; sent++)
      await (await fetch(`${stage.service.url}/crm/webhook`, signedRequest(webhook, stage.crm.key))).text();
    repeat(cleanup, 50, () => hold(stage, cleanup, Buffer.concat([Buffer.from(upgrade(token)), REGISTER])));
  },

  'message ids that were repeated 10,000 times': async (stage, cleanup) => {
    const messageIds = Array.from({ length: 20 }, (_, index) => `repeated-${index}`);
    for (const messageId of messageIds) addRequests(stage, messageId, 10_000);
    let next = 0;
    repeat(cleanup, 20, async () => {
      const messageId = messageIds[next++ % messageIds.length];
      const webhook = {
        locationId: ATTACKER,
        contactId: 'c',
        phone: '+14155550100',
        message: 'Hi',
        messageId,
      };
      await (await fetch(`${stage.service.url}/crm/webhook`, signedRequest(webhook, stage.crm.key))).text();
    });
  },

  // Behind this one, no Mac can be activated for a minute.
  'guessed pairing codes and license keys': async (stage, cleanup) => {
    const code = () => randomBytes(5).toString('hex');
    repeat(cleanup, 100, () =>
      post(stage, '/mac/pair', JSON.stringify({ code: code(), deviceId: 'mac-guess' })),
    );
    repeat(cleanup, 100, () =>
      post(stage, '/mac/activate', JSON.stringify({ licenseKey: code(), deviceId: 'mac-guess' })),
    );
  },

  'OAuth callbacks with made-up codes while the CRM hangs': async (stage, cleanup) => {
    stage.crm.injectFault({ match: 'token', times: 10_000, how: 'hang' });
    cleanup.add(() => stage.crm.clearFaults());
    repeat(cleanup, 100, async () => {
      const code = randomBytes(8).toString('hex');
      await (await fetch(`${stage.service.url}/oauth/callback/crm?code=${code}`)).text();
    });
    return {
      async verify() {
        const { status } = await fetch(`${stage.service.url}/health`);
        return status === 200 ? undefined : `the health check gets ${status}`;
      },
    };
  },

  'lookups of 300 webhooks a second that the CRM does not answer': async (stage, cleanup) => {
    stage.crm.injectFault({ match: 'contact', locationId: ATTACKER, times: 100_000, how: 'hang' });
    cleanup.add(() => stage.crm.clearFaults());
    const webhook = signedRequest({ locationId: ATTACKER, contactId: 'c', message: 'Hello' }, stage.crm.key);
    repeat(cleanup, 300, async () => (await fetch(`${stage.service.url}/crm/webhook`, webhook)).text());
  },

  'operators: sign-ins with wrong tokens and events that are not read': async (stage, cleanup) => {
    const { operatorUrl, operatorToken } = stage.service;
    const headers = { Authorization: `Bearer ${operatorToken}` };
    for (let reader = 0; reader < 99; reader++) {
      const call = httpRequest(`${operatorUrl}/operator/events`, { headers, agent: false }, (answer) =>
        answer.pause(),
      );
      call.on('error', () => undefined).end();
      cleanup.add(() => call.destroy());
    }
    repeat(cleanup, 100, async () => {
      const body = JSON.stringify({ token: randomBytes(8).toString('hex') });
      const type = { 'Content-Type': 'application/json' };
      await (await fetch(`${operatorUrl}/operator/session`, { method: 'POST', headers: type, body })).text();
    });
    return {
      async verify() {
        const { status } = await stage.service.operator('GET', '/operator/locations');
        return status === 200 ? undefined : `the operator gets ${status}`;
      },
    };
  },

  'connections to the operator listener': async (stage, cleanup) => {
    const { hostname, port } = new URL(stage.service.operatorUrl);
    repeat(cleanup, 300, () => {
      const socket = connect(Number(port), hostname).on('error', () => undefined);
      cleanup.add(() => socket.destroy());
      socket.pause().write(`GET /console HTTP/1.1\r\n${HOST}\r\n`);
    });
    return {
      async verify() {
        const { status } = await stage.service.operator('GET', '/operator/locations');
        return status === 200 ? undefined : `the operator gets ${status}`;
      },
    };
  },
};
