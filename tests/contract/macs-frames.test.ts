import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';

import { createCleanup } from '@footbridge/testkit/cleanup';
import type { Mac } from '@footbridge/testkit/mac';
import { until } from '@footbridge/testkit/until';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';

import { GOOD, LOCATION, OTHER_LOCATION, PHONE, bridges } from './test-bridge.ts';
import type { TestBridge, TestBridgeOptions } from './test-bridge.ts';

const startBridge = bridges();
const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start(options?: TestBridgeOptions) {
  const bridge = await startBridge(options);
  const connect = () => bridge.connect();
  const join = async (locationId: string) => {
    const mac = await bridge.connect();
    await mac.register(locationId);
    return mac;
  };
  const before = await bridge.metric(IGNORED);
  /** Returns the number of frames that were ignored since the start of the test. */
  const ignored = async () => (await bridge.metric(IGNORED)) - before;
  return { bridge, crm: bridge.crm, connect, join, ignored };
}

const IGNORED = 'footbridge_mac_frames_ignored_total';

/** Sends a webhook to the Mac of `LOCATION`. Returns its request id. */
async function requestTo(bridge: TestBridge, messageId: string): Promise<string> {
  const { json } = await bridge.post({ ...GOOD, messageId });
  return String(json?.['requestId']);
}

describe('frames that a Mac sends', () => {
  it('M1 statuses and messages are handled under the lease of the session and acknowledged by their seq', async () => {
    const { bridge, crm, join } = await start();
    const mac = await join(LOCATION);
    const requestId = await requestTo(bridge, 'm-1');
    const one = mac.status({ requestId, messageId: 'm-1', status: 'delivered', guid: 'G-1' });
    const two = mac.received({ sender: PHONE, text: 'Hello' });
    expect(await mac.ack(two)).toEqual({ type: 'ack', seq: two, outcome: 'delivered' });
    expect(await mac.ack(one)).toEqual({ type: 'ack', seq: one, outcome: 'delivered' });
    expect(crm.statusesOf('m-1').at(-1)).toMatchObject({ status: 'delivered', locationId: LOCATION });
    expect(crm.messages).toMatchObject([{ locationId: LOCATION, message: 'Hello' }]);
  });

  it('M1 each ack has the outcome of its frame, and acks arrive in any order', async () => {
    const { bridge, crm, join } = await start();
    const mac = await join(LOCATION);
    await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }));
    // The first attempt gets no response, the second one is rejected.
    const fault = crm.injectFault({ match: 'inbound', how: 'hang' });
    const slow = mac.received({ sender: PHONE, text: 'Hi' });
    await until(() => fault.hits === 1);
    const quick = mac.received({
      sender: PHONE,
      text: 'Hi',
      chat: { id: 2, isGroup: false, recipients: [PHONE] },
    });
    expect(await mac.ack(quick)).toEqual({ type: 'ack', seq: quick, outcome: 'delivered' });
    crm.injectFault({ match: 'inbound', how: { status: 422, body: { message: 'x'.repeat(900) } } });
    expect(await bridge.clock.skipThrough(mac.ack(slow))).toEqual({
      type: 'ack',
      seq: slow,
      outcome: 'rejected',
      reason: expect.stringMatching(/^the CRM refused: 422 x{100,400}$/),
    });
  });

  it('M1 a status that is not reported to the CRM is acknowledged as skipped', async () => {
    const { bridge, join } = await start({ oauth: 'off' });
    const mac = await join(LOCATION);
    const requestId = await requestTo(bridge, 'm-2');
    const seq = mac.status({ requestId, messageId: 'm-2', status: 'delivered' });
    expect(await mac.ack(seq)).toEqual({ type: 'ack', seq, outcome: 'skipped' });
  });

  it('M1 a Mac that was displaced gets no ack and keeps the frame', async () => {
    const { crm, join } = await start();
    const mac = await join(LOCATION);
    const fault = crm.injectFault({ match: 'inbound', how: { answerDelayMs: 3000 } });
    mac.received({ sender: PHONE, text: 'kept' });
    await until(() => fault.hits === 1);
    await join(LOCATION);
    expect(await mac.closed).toMatchObject({ code: 4501 });
    await until(() => crm.messages.some(({ message }) => message === 'kept'));
    expect(mac.frames.filter(({ type }) => type === 'ack')).toEqual([]);
  });

  it.each<[string, string, (mac: Mac, requestId: string) => void]>([
    [
      'an inbound message',
      'inbound.afterClaim:throw',
      (mac) => void mac.received({ sender: PHONE, text: 'Hi' }),
    ],
    [
      'a status',
      'status.beforeTerminal:throw',
      (mac, requestId) => void mac.status({ requestId, messageId: 'm-3', status: 'delivered' }),
    ],
  ])(
    'M1 %s whose delivery failed is not acknowledged, and the Mac has to reconnect and send it again',
    async (_what, failpoint, send) => {
      const { bridge, join } = await start({ env: { FAILPOINTS: failpoint, MAC_HEARTBEAT_SEC: '10' } });
      const mac = await join(LOCATION);
      send(mac, await requestTo(bridge, 'm-3'));
      await mac.roundTrip();
      const closed = await bridge.clock.skipThrough(mac.closed);
      expect(closed).toMatchObject({ code: 1001, reason: expect.stringContaining('come back') });
      expect(mac.frames.map(({ type }) => type)).toEqual(['registered', 'send']);
    },
  );

  it('M1 the 65th unacknowledged frame closes the connection', async () => {
    const { crm, join } = await start({});
    const mac = await join(LOCATION);
    const fault = crm.injectFault({ match: 'inbound', how: 'hang', times: 100 });
    for (let count = 0; count < 64; count++) mac.received({ sender: PHONE, text: 'Hi' });
    await until(() => fault.hits === 1);
    await mac.roundTrip();
    expect(mac.isOpen).toBe(true);
    mac.received({ sender: PHONE, text: 'Hi' });
    expect(await mac.closed).toMatchObject({ code: 4013 });
  });

  it('M1 any number of frames can be sent as long as they are acknowledged', async () => {
    const { crm, join } = await start();
    const mac = await join(LOCATION);
    for (let round = 0; round < 5; round++) {
      const numbers = Array.from({ length: 64 }, (_, index) =>
        mac.received({ sender: PHONE, text: String(round * 64 + index) }),
      );
      await Promise.all(numbers.map((seq) => mac.ack(seq)));
    }
    expect(crm.messages.map(({ message }) => message)).toEqual(
      Array.from({ length: 320 }, (_, index) => String(index)),
    );
  });

  it('M1 frames sent before `registered` are not lost', async () => {
    const { crm, connect } = await start();
    const mac = await connect();
    const registered = mac.register(LOCATION);
    const numbers = ['1', '2', '3'].map((text) => mac.received({ sender: PHONE, text }));
    await registered;
    for (const seq of numbers) await mac.ack(seq);
    expect(crm.messages.map(({ message }) => message)).toEqual(['1', '2', '3']);
    expect(mac.frames[0]).toMatchObject({ type: 'registered' });
  });

  it('M8 the location is taken from the lease, not from the frame', async () => {
    const { bridge, crm, join } = await start();
    await bridge.authorise(OTHER_LOCATION);
    const [mac, other] = [await join(LOCATION), await join(OTHER_LOCATION)];
    const requestId = await requestTo(bridge, 'm-4');
    const more = { locationId: OTHER_LOCATION, lease: { locationId: OTHER_LOCATION }, epoch: 1 };
    await mac.ack(mac.received({ sender: PHONE, text: 'Hi', ...more }));
    await mac.ack(mac.status({ requestId, messageId: 'm-4', status: 'delivered', ...more }));
    const locations = [...crm.messages, ...crm.statuses].map(({ locationId }) => locationId);
    expect(new Set(locations)).toEqual(new Set([LOCATION]));
    const claimed = other.status({
      requestId,
      messageId: 'm-4',
      status: 'failed',
      error: { code: 'X', message: 'x' },
    });
    expect(await other.ack(claimed)).toMatchObject({
      outcome: 'rejected',
      reason: 'this request belongs to another location',
    });
    expect(other.isOpen).toBe(true);
  });
});

describe('frames that a Mac gets', () => {
  it('M1 a message is on the socket before the webhook gets its response, and is reported to the CRM and the journal', async () => {
    const { bridge, crm, join } = await start();
    const mac = await join(LOCATION);
    const requestId = await requestTo(bridge, 'm-5');
    expect(await mac.nextFrame('send')).toMatchObject({ requestId, phone: PHONE, message: 'Hello' });
    await bridge.journalled(requestId, 'written');
    await until(() => crm.accepted('m-5').includes('pending'));
  });

  it('M1 the first frame is `registered`, also when a message is ready at the same moment', async () => {
    const { bridge, connect } = await start();
    const mac = await connect();
    const registered = mac.register('loc1');
    await until(() => bridge.reaches('loc1'), { every: 0 });
    await registered;
    await mac.nextFrame('send');
    expect(mac.frames.map(({ type }) => type)).toEqual(['registered', 'send']);
  });

  it('M1 a frame of more than 256 KiB is not written', async () => {
    const { bridge, join } = await start({ env: { MESSAGE_BODY_MAX_LENGTH_CHARS: '30000' } });
    const mac = await join('loc1');
    // Each of these characters takes six bytes.
    const message = `${'\u0001'.repeat(29_999)}x`;
    const attachments = Array.from({ length: 20 }, () => `https://x.example/${'中'.repeat(2030)}`);
    expect(await bridge.reaches('loc1', { message, attachments })).toBe(false);
    expect(bridge.log).toContain('mac.frame_too_large');
    expect(await bridge.reaches('loc1', { message })).toBe(true);
    expect((await mac.nextFrame('send')).message).toHaveLength(30_000);
  });

  it('M1 `redeliver` reaches the Mac and is not recorded as a message', async () => {
    const { bridge, crm, join } = await start();
    const mac = await join(LOCATION);
    crm.injectFault({ match: 'inbound', how: { status: 422 }, times: 10 });
    const guid = 'GUID-TO-REDELIVER';
    const seq = mac.received({ sender: PHONE, text: 'Hi', guid });
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'rejected' });
    const { id } = await bridge.journalled(guid, 'parked');
    expect(await bridge.operator('POST', `/operator/messages/${String(id)}/redeliver`)).toMatchObject({
      status: 202,
    });
    expect(await mac.nextFrame('redeliver')).toEqual({ type: 'redeliver', seq });
    expect(crm.statuses).toEqual([]);
  });
});

describe('protocol violations', () => {
  it.each<[string, (mac: Mac) => void, RegExp]>([
    ['no JSON', (mac) => mac.sendRaw('not json'), /JSON object/],
    ['no object', (mac) => mac.sendRaw('[]'), /JSON object/],
    ['null', (mac) => mac.sendRaw('null'), /JSON object/],
    ['no type', (mac) => mac.send({}), /type/],
    ['a type that is not a string', (mac) => mac.send({ type: 7 }), /type/],
    ['a binary frame', (mac) => mac.sendRaw(Buffer.from('{"type":"register"}')), /text/],
    ['an empty frame', (mac) => mac.sendRaw(''), /JSON object/],
    ['a status without its fields', (mac) => mac.send({ type: 'message_status', seq: 1 }), /requestId/],
    ['a second register', (mac) => void mac.register('loc1').catch(() => {}), /once/],
    [
      'a failure without its error',
      (mac) => mac.status({ requestId: 'r-1', status: 'failed' }),
      /error must be present/,
    ],
    [
      'a prototype as a type',
      (mac) => mac.sendRaw('{"type":"message_received","__proto__":{"seq":1}}'),
      /seq/,
    ],
  ])('M1 %s closes the connection with 4000 and a reason', async (_what, misbehave, reason) => {
    const { join } = await start();
    const mac = await join('loc1');
    misbehave(mac);
    expect(await mac.closed).toEqual({ code: 4000, reason: expect.stringMatching(reason) });
  });

  it.each<[string, object]>([
    ['a status', { type: 'message_status', seq: 1, requestId: 'r', messageId: null, status: 'delivered' }],
    ['an unknown type', { type: 'hello' }],
    ['a state', { type: 'state' }],
    ['an invalid state', { type: 'state', queue: 7 }],
  ])('M1 %s before `register` closes the connection with 4000', async (_what, frame) => {
    const { crm, connect } = await start();
    const mac = await connect();
    mac.send(frame);
    expect(await mac.closed).toEqual({ code: 4000, reason: 'the first frame must be register' });
    expect(crm.statuses).toEqual([]);
  });

  it.each(['', '   ', 'loc\u00001', 'loc\n1', '\ud800'])(
    'M1 %j is not a valid location in `register`',
    async (locationId) => {
      const { connect } = await start();
      const mac = await connect();
      await expect(mac.register(locationId)).rejects.toMatchObject({ code: 4000 });
    },
  );

  it.each(['__proto__', 'constructor', '{}', '*', 'loc:1 ☃', "'; drop table locations; --"])(
    'M1 %j is a valid location in `register`',
    async (locationId) => {
      const { bridge, join } = await start();
      const mac = await join(locationId);
      expect(await bridge.reaches(locationId)).toBe(true);
      await mac.nextFrame('send');
    },
  );

  it('M1 unknown types and unknown fields are ignored, and counted', async () => {
    const { bridge, ignored, join } = await start();
    const mac = await join(LOCATION);
    for (const type of ['hello', '__proto__', 'toString', 'x'.repeat(1000)]) mac.send({ type, deep: [[[]]] });
    const more: object = { mood: 'sunny' };
    await mac.ack(mac.received({ sender: PHONE, text: 'Hi', ...more }));
    expect(await ignored()).toBe(4);
    expect(await bridge.reaches(LOCATION)).toBe(true);
  });

  it('M1 an invalid state is ignored and counted, and the state before it stays', async () => {
    const { bridge, ignored, join } = await start();
    const mac = await join(LOCATION);
    mac.send({ type: 'state', queue: { pending: 3 } });
    for (const wrong of [{ queue: { pending: -1 } }, { session: 7 }, { capabilities: 'all' }])
      mac.send({ type: 'state', ...wrong });
    await mac.roundTrip();
    expect(await ignored()).toBe(3);
    expect(await bridge.reaches(LOCATION)).toBe(true);
    const { body } = await bridge.operator('GET', '/operator/locations');
    const locations = body['locations'] as { locationId: string }[];
    expect(locations.find(({ locationId }) => locationId === LOCATION)).toMatchObject({
      connected: { state: { queue: { pending: 3 } } },
    });
  });

  it('M1 more than 1,000 states between two heartbeats violate the protocol', async () => {
    const { join } = await start();
    const mac = await join(LOCATION);
    for (let count = 0; count <= 1000; count++) mac.send({ type: 'state' });
    expect(await mac.closed).toMatchObject({ code: 4000, reason: expect.stringContaining('too many') });
  });

  it('M1 a frame over 256 KiB ends the connection with 1009, one just below does not', async () => {
    const { ignored, join } = await start();
    const mac = await join('loc1');
    const frame = { type: 'hello', padding: '' };
    const room = 256 * 1024 - JSON.stringify(frame).length;
    mac.send({ ...frame, padding: 'x'.repeat(room) });
    await until(async () => (await ignored()) === 1);
    mac.send({ ...frame, padding: 'x'.repeat(300_000) });
    expect((await mac.closed).code).toBe(1009);
  });

  it('M1 deeply nested JSON does not affect the service', async () => {
    const { ignored, join } = await start();
    const mac = await join('loc1');
    mac.sendRaw(`{"type":"hello","deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
    mac.sendRaw(`{"type":"hello","deep":${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}}`);
    await until(async () => (await ignored()) === 2);
    mac.sendRaw('['.repeat(250_000));
    expect((await mac.closed).code).toBe(4000);
  });
});

describe('invalid WebSocket bytes', () => {
  it.each<[string, Buffer, number]>([
    ['a text that is not UTF-8', masked(0x81, Buffer.from([0x22, 0xff, 0xfe, 0x22])), 4000],
    ['a lone surrogate in UTF-8', masked(0x81, Buffer.from([0xed, 0xa0, 0x80])), 4000],
    ['an unmasked frame', Buffer.from([0x81, 0x02, 0x7b, 0x7d]), 4000],
    ['reserved bits', masked(0xc1, Buffer.from('{}')), 4000],
    ['an unknown opcode', masked(0x83, Buffer.from('{}')), 4000],
    ['a continuation frame without a start', masked(0x80, Buffer.from('{}')), 4000],
    ['a fragmented control frame', masked(0x09, Buffer.from('x')), 4000],
    ['a length over the limit', Buffer.from([0x81, 0xff, 0x7f, ...Array<number>(7).fill(0xff)]), 1009],
    ['65 fragments', Buffer.concat([masked(0x01), ...Array.from({ length: 64 }, () => masked(0x00))]), 4000],
  ])('M1 %s ends this connection and no other', async (_what, bytes, code) => {
    const { bridge, join } = await start();
    const neighbour = await join('loc2');
    const socket = await rawSocket(bridge);
    socket.write(Buffer.concat([register('loc1'), bytes]));
    expect(await closeCode(socket)).toBe(code);
    await until(async () => !(await bridge.reaches('loc1')));
    expect(await bridge.reaches('loc2')).toBe(true);
    await neighbour.nextFrame('send');
  });

  it('M1 a frame that arrives byte by byte is read', async () => {
    const { bridge, ignored } = await start();
    const socket = await rawSocket(bridge);
    const text = Buffer.from(JSON.stringify({ type: 'hello' }));
    const pieces = [
      masked(0x01, text.subarray(0, 4)),
      masked(0x00, text.subarray(4, 9)),
      masked(0x80, text.subarray(9)),
    ];
    const bytes = Buffer.concat([register('loc1'), ...pieces]);
    for (const byte of bytes) {
      socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(async () => (await ignored()) === 1);
  });

  it('M1 the service responds to a ping of a Mac', async () => {
    const { bridge } = await start();
    const socket = await rawSocket(bridge);
    const answer = new Promise<Buffer>((resolve) => {
      socket.once('data', resolve);
    });
    socket.write(masked(0x89, Buffer.from('are you there')));
    const pong = await answer;
    expect([pong[0], pong.subarray(2).toString()]).toEqual([0x8a, 'are you there']);
  });

  it.each([
    ['pings', 0x89],
    ['pongs', 0x8a],
  ])('M1 T30 a Mac that sends only %s is disconnected', async (_what, first) => {
    const { bridge } = await start();
    const socket = await rawSocket(bridge);
    socket.pause();
    const pings = Buffer.concat(Array.from({ length: 5000 }, () => masked(first, Buffer.alloc(125))));
    await until(() => {
      const isCutOff = bridge.log.includes('too many pings');
      if (!isCutOff && socket.writableLength < 10_000_000) socket.write(pings);
      return isCutOff;
    });
  });

  it('M1 a connection with an incomplete frame is closed after two heartbeats', async () => {
    const { bridge } = await start({ env: { MAC_HEARTBEAT_SEC: '10' }, stoppedClock: true });
    const socket = await rawSocket(bridge);
    socket.write(Buffer.concat([register('loc1'), Buffer.from([0x81, 0xfe, 0xff, 0xff, 1, 2, 3, 4])]));
    await until(() => bridge.reaches('loc1'));
    await bridge.clock.skip(30_000);
    expect(await bridge.reaches('loc1')).toBe(false);
  });
});

describe('random bytes', () => {
  it('M1 from one Mac never affect another Mac', async () => {
    const { bridge, join } = await start();
    const neighbour = await join('healthy');
    const shared = await bridge.token();
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
            fc.json().map((text) => masked(0x81, Buffer.from(text).subarray(0, 60_000))),
            fc
              .tuple(fc.nat(255), fc.uint8Array({ maxLength: 200 }))
              .map(([first, bytes]) => masked(first, Buffer.from(bytes))),
          ),
          { minLength: 1, maxLength: 5 },
        ),
        async (pieces) => {
          const socket = await rawSocket(bridge, shared);
          socket.write(Buffer.concat([register('junk'), ...pieces]));
          expect(await bridge.reaches('healthy')).toBe(true);
          await neighbour.nextFrame('send');
          socket.resetAndDestroy();
        },
      ),
      { numRuns: 150 },
    );
    await until(async () => (await bridge.metric('footbridge_macs_bound')) === 1);
    expect(neighbour.isOpen).toBe(true);
  });
});

/** Returns a masked WebSocket frame, as clients send it. */
function masked(first: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const mask = Buffer.from([0x37, 0xfa, 0x21, 0x3d]);
  const body = payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0));
  const length = payload.length < 126 ? [payload.length] : [126, payload.length >> 8, payload.length & 0xff];
  length[0] = (length[0] ?? 0) | 0x80;
  return Buffer.concat([Buffer.from([first, ...length]), mask, body]);
}

function register(locationId: string): Buffer {
  const text = {
    type: 'register',
    locationId,
    agent: { version: '0.1.0' },
    os: { name: 'macOS', version: '26.1' },
    capabilities: [],
  };
  return masked(0x81, Buffer.from(JSON.stringify(text)));
}

async function rawSocket(bridge: TestBridge, token?: string): Promise<Socket> {
  const { hostname, port } = new URL(bridge.url);
  const bearer = token ?? (await bridge.token());
  const socket = connectTcp(Number(port), hostname);
  socket.on('error', () => {});
  cleanup.add(() => socket.destroy());
  socket.write(
    `GET /mac/socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: footbridge.v1\r\nAuthorization: Bearer ${bearer}\r\n\r\n`,
  );
  await new Promise<void>((resolve) => {
    socket.once('data', () => resolve());
  });
  return socket;
}

/** Returns the code of the close frame, which the server sends unmasked. */
async function closeCode(socket: Socket): Promise<number | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  for (let at = 0; at < bytes.length;) {
    const length = (bytes[at + 1] ?? 0) & 0x7f;
    const payload = at + (length === 126 ? 4 : 2);
    if (((bytes[at] ?? 0) & 0x0f) === 8) return bytes.readUInt16BE(payload);
    at = payload + (length === 126 ? bytes.readUInt16BE(at + 2) : length);
  }
  return undefined;
}
