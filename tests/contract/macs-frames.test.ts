import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';

import { newRequestId } from '@footbridge/protocol/ids';
import { activate, connectMac } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';

import { startMacHouse } from './mac-house.ts';
import type { HouseOptions } from './mac-house.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start(options?: HouseOptions) {
  const house = await startMacHouse(options);
  cleanup.add(() => house.stop());
  const license = await house.createLicense();
  const token = async () => {
    const { deviceToken } = await activate(house.url, { licenseKey: license.key });
    return deviceToken ?? expect.fail('not activated');
  };
  const connect = async (more: { answerPings?: boolean } = {}) => {
    const mac = await connectMac(house.url, { token: await token(), ...more });
    cleanup.add(() => mac.terminate());
    return mac;
  };
  const join = async (locationId: string, more?: { answerPings?: boolean }) => {
    const mac = await connect(more);
    await mac.register(locationId);
    return mac;
  };
  return { house, crm: house.crm, token, connect, join };
}

describe('frames that a Mac sends', () => {
  it('M1 statuses and messages go on under the lease of the session, and are acknowledged by their number', async () => {
    const { crm, join } = await start();
    const mac = await join('loc1');
    const requestId = newRequestId();
    const one = mac.status({ requestId, messageId: 'm-1', status: 'delivered', guid: 'G-1' });
    const two = mac.received({ sender: '+15555550100', text: 'Hello' });
    expect(await mac.ack(two)).toEqual({ type: 'ack', seq: two, outcome: 'delivered' });
    expect(await mac.ack(one)).toEqual({ type: 'ack', seq: one, outcome: 'delivered' });
    expect(crm.statuses).toMatchObject([
      { lease: { locationId: 'loc1' }, frame: { requestId, guid: 'G-1' } },
    ]);
    expect(crm.received).toMatchObject([{ lease: { locationId: 'loc1' }, frame: { text: 'Hello' } }]);
  });

  it('M1 acks say what became of a frame and come in any order', async () => {
    const { crm, join } = await start();
    const mac = await join('loc1');
    const first = Promise.withResolvers<{ outcome: 'rejected'; reason: string }>();
    crm.answer = () => first.promise;
    const slow = mac.received({ sender: '+15555550100' });
    await until(() => crm.received.length === 1);
    crm.answer = () => ({ outcome: 'skipped' });
    const quick = mac.received({ sender: '+15555550100' });
    expect(await mac.ack(quick)).toEqual({ type: 'ack', seq: quick, outcome: 'skipped' });
    first.resolve({ outcome: 'rejected', reason: 'x'.repeat(900) });
    expect(await mac.ack(slow)).toEqual({
      type: 'ack',
      seq: slow,
      outcome: 'rejected',
      reason: 'x'.repeat(500),
    });
  });

  it('M1 a Mac that was displaced meanwhile gets no ack: it keeps the frame', async () => {
    const { crm, join } = await start();
    const mac = await join('loc1');
    const later = Promise.withResolvers<{ outcome: 'delivered' }>();
    crm.answer = () => later.promise;
    mac.received({ sender: '+15555550100' });
    await until(() => crm.received.length === 1);
    await join('loc1');
    later.resolve({ outcome: 'delivered' });
    expect(await mac.closed).toMatchObject({ code: 4501 });
    expect(mac.frames.filter(({ type }) => type === 'ack')).toEqual([]);
  });

  it.each([
    ['that is to be tried again', () => 'retry' as const],
    ['whose delivery failed', () => Promise.reject(new Error('a fault of ours'))],
  ])('M1 a frame %s is not acknowledged, and the Mac is asked to come back with it', async (_how, answer) => {
    const { crm, join } = await start({ heartbeatSec: 0.3 });
    const mac = await join('loc1');
    crm.answer = answer;
    mac.received({ sender: '+15555550100' });
    expect(await mac.closed).toMatchObject({ code: 1001, reason: expect.stringContaining('come back') });
    expect(mac.frames.map(({ type }) => type)).toEqual(['registered']);
  });

  it('M1 the 65th unacknowledged frame is one too many', async () => {
    const { crm, join } = await start();
    const mac = await join('loc1');
    const later = Promise.withResolvers<{ outcome: 'delivered' }>();
    crm.answer = () => later.promise;
    for (let count = 0; count < 64; count++) mac.received({ sender: '+15555550100' });
    await until(() => crm.received.length === 64);
    expect(mac.isOpen).toBe(true);
    mac.received({ sender: '+15555550100' });
    expect(await mac.closed).toMatchObject({ code: 4013 });
    expect(crm.received).toHaveLength(64);
    later.resolve({ outcome: 'delivered' });
  });

  it('M1 acknowledged frames make room: any number passes in turn', async () => {
    const { crm, join } = await start();
    const mac = await join('loc1');
    for (let round = 0; round < 5; round++) {
      const numbers = Array.from({ length: 64 }, () => mac.received({ sender: '+15555550100' }));
      await Promise.all(numbers.map((seq) => mac.ack(seq)));
    }
    expect(crm.received.map(({ frame }) => frame.seq)).toEqual(
      Array.from({ length: 320 }, (_, index) => index + 1),
    );
  });

  it('M1 a Mac that does not wait for `registered` loses nothing', async () => {
    const { crm, connect } = await start();
    const mac = await connect();
    const registered = mac.register('loc1');
    const numbers = [1, 2, 3].map(() => mac.received({ sender: '+15555550100' }));
    await registered;
    for (const seq of numbers) await mac.ack(seq);
    expect(crm.received.map(({ frame }) => frame.seq)).toEqual(numbers);
    expect(mac.frames[0]).toMatchObject({ type: 'registered' });
  });

  it('M8 the location is that of the lease, whatever a frame says', async () => {
    const { crm, join } = await start();
    const [mac, other] = [await join('loc1'), await join('loc2')];
    const more = { locationId: 'loc2', lease: { locationId: 'loc2' }, epoch: 1 };
    await mac.ack(mac.received({ sender: '+15555550100', ...more }));
    await mac.ack(mac.status({ requestId: newRequestId(), status: 'delivered', ...more }));
    expect([...crm.received, ...crm.statuses].map(({ lease }) => lease.locationId)).toEqual(['loc1', 'loc1']);
    expect(JSON.stringify(crm.received.map(({ frame }) => frame))).not.toContain('loc2');
    expect(other.isOpen).toBe(true);
  });
});

describe('frames that a Mac gets', () => {
  it('M1 a message is on the socket when `written` is answered; the status side and the journal are told', async () => {
    const { house, crm, join } = await start();
    const mac = await join('loc1');
    const requestId = newRequestId();
    expect(await house.send('loc1', { requestId })).toBe('written');
    expect(crm.announced).toEqual([`loc1 ${requestId}`]);
    expect(crm.steps).toEqual([`written ${requestId}`]);
    expect(await mac.nextFrame('send')).toMatchObject({ requestId, phone: '+15555550100', message: 'Hi' });
  });

  it('M1 the first frame is `registered`, also when a message is ready at the same moment', async () => {
    const { house, connect } = await start();
    const mac = await connect();
    const registered = mac.register('loc1');
    await until(async () => (await house.send('loc1')) === 'written', { every: 0 });
    await registered;
    await mac.nextFrame('send');
    expect(mac.frames.map(({ type }) => type)).toEqual(['registered', 'send']);
  });

  it('M1 a frame of more than 256 KiB is not written', async () => {
    const { house, join } = await start();
    const mac = await join('loc1');
    expect(await house.send('loc1', { message: '€'.repeat(90_000) })).toBe('not_connected');
    expect(await house.send('loc1', { message: '€'.repeat(80_000) })).toBe('written');
    expect((await mac.nextFrame('send')).message).toHaveLength(80_000);
    expect(house.crm.announced).toHaveLength(1);
  });

  it('M1 a request to deliver again reaches the Mac and is no message', async () => {
    const { house, crm, join } = await start();
    const mac = await join('loc1');
    const [lease] = await house.switchboard.boundMacs();
    await house.switchboard.send(lease?.locationId ?? expect.fail('no lease'), { type: 'redeliver', seq: 7 });
    expect(await mac.nextFrame('redeliver')).toEqual({ type: 'redeliver', seq: 7 });
    expect(crm.announced).toEqual([]);
  });
});

describe('protocol violations', () => {
  it.each<[string, (mac: Mac) => void, RegExp]>([
    ['no JSON', (mac) => mac.sendRaw('not json'), /JSON object/],
    ['no object', (mac) => mac.sendRaw('[]'), /JSON object/],
    ['null', (mac) => mac.sendRaw('null'), /JSON object/],
    ['no type', (mac) => mac.send({}), /type/],
    ['a type that is no text', (mac) => mac.send({ type: 7 }), /type/],
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
  ])('M1 %s is answered with 4000 and a reason', async (_what, misbehave, reason) => {
    const { join } = await start();
    const mac = await join('loc1');
    misbehave(mac);
    expect(await mac.closed).toEqual({ code: 4000, reason: expect.stringMatching(reason) });
  });

  it.each<[string, object]>([
    ['a status', { type: 'message_status', seq: 1, requestId: 'r', messageId: null, status: 'delivered' }],
    ['an unknown type', { type: 'hello' }],
  ])('M1 %s before register is answered with 4000', async (_what, frame) => {
    const { crm, connect } = await start();
    const mac = await connect();
    mac.send(frame);
    expect(await mac.closed).toEqual({ code: 4000, reason: 'the first frame must be register' });
    expect(crm.statuses).toEqual([]);
  });

  it.each(['', '   ', 'loc\u00001', 'loc\n1', '\ud800'])(
    'M1 %j is no location to register',
    async (locationId) => {
      const { connect } = await start();
      const mac = await connect();
      await expect(mac.register(locationId)).rejects.toMatchObject({ code: 4000 });
    },
  );

  it.each(['__proto__', 'constructor', '{}', '*', 'loc:1 ☃', "'; drop table locations; --"])(
    'M1 %j is a location like any other',
    async (locationId) => {
      const { house, join } = await start();
      const mac = await join(locationId);
      expect(await house.send(locationId)).toBe('written');
      await mac.nextFrame('send');
    },
  );

  it('M1 unknown types and unknown fields are ignored, and counted', async () => {
    const { house, crm, join } = await start();
    const mac = await join('loc1');
    for (const type of ['hello', '__proto__', 'toString', 'x'.repeat(1000)]) mac.send({ type, deep: [[[]]] });
    const more: object = { mood: 'sunny' };
    await mac.ack(mac.received({ sender: '+15555550100', ...more }));
    expect(crm.ignored).toBe(4);
    expect(await house.send('loc1')).toBe('written');
  });

  it('M1 a frame over 256 KiB ends the connection with 1009, one just below does not', async () => {
    const { crm, join } = await start();
    const mac = await join('loc1');
    const frame = { type: 'hello', padding: '' };
    const room = 256 * 1024 - JSON.stringify(frame).length;
    mac.send({ ...frame, padding: 'x'.repeat(room) });
    await until(() => crm.ignored === 1);
    mac.send({ ...frame, padding: 'x'.repeat(300_000) });
    expect((await mac.closed).code).toBe(1009);
  });

  it('M1 deep JSON does no harm', async () => {
    const { crm, join } = await start();
    const mac = await join('loc1');
    mac.sendRaw(`{"type":"hello","deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
    mac.sendRaw(`{"type":"hello","deep":${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}}`);
    await until(() => crm.ignored === 2);
    mac.sendRaw('['.repeat(250_000));
    expect((await mac.closed).code).toBe(4000);
  });
});

describe('bytes that no client library would send', () => {
  it.each<[string, Buffer, number]>([
    ['a text that is not UTF-8', masked(0x81, Buffer.from([0x22, 0xff, 0xfe, 0x22])), 4000],
    ['half of a surrogate pair in UTF-8', masked(0x81, Buffer.from([0xed, 0xa0, 0x80])), 4000],
    ['an unmasked frame', Buffer.from([0x81, 0x02, 0x7b, 0x7d]), 4000],
    ['reserved bits', masked(0xc1, Buffer.from('{}')), 4000],
    ['an unknown opcode', masked(0x83, Buffer.from('{}')), 4000],
    ['a continuation of nothing', masked(0x80, Buffer.from('{}')), 4000],
    ['a control frame in pieces', masked(0x09, Buffer.from('x')), 4000],
    ['a length beyond all limits', Buffer.from([0x81, 0xff, 0x7f, ...Array<number>(7).fill(0xff)]), 1009],
    ['65 fragments', Buffer.concat([masked(0x01), ...Array.from({ length: 64 }, () => masked(0x00))]), 4000],
  ])('M1 %s ends the connection, and only that one', async (_what, bytes, code) => {
    const { house, join, token } = await start();
    const neighbour = await join('loc2');
    const socket = await rawSocket(house.url, await token());
    socket.write(Buffer.concat([register('loc1'), bytes]));
    expect(await closeCode(socket)).toBe(code);
    await until(async () => (await house.send('loc1')) === 'not_connected');
    expect(await house.send('loc2')).toBe('written');
    await neighbour.nextFrame('send');
  });

  it('M1 a frame in pieces, byte by byte, is read like any other', async () => {
    const { house, crm, token } = await start();
    const socket = await rawSocket(house.url, await token());
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
    await until(() => crm.ignored === 1);
  });

  it('M1 a Mac may ping, too', async () => {
    const { house, token } = await start();
    const socket = await rawSocket(house.url, await token());
    const answer = new Promise<Buffer>((resolve) => {
      socket.once('data', resolve);
    });
    socket.write(masked(0x89, Buffer.from('are you there')));
    const pong = await answer;
    expect([pong[0], pong.subarray(2).toString()]).toEqual([0x8a, 'are you there']);
  });

  it('M1 a Mac that does nothing but ping is cut off', async () => {
    const { house, token } = await start();
    const socket = await rawSocket(house.url, await token());
    socket.pause();
    const pings = Buffer.concat(Array.from({ length: 5000 }, () => masked(0x89, Buffer.alloc(125))));
    await until(() => {
      if (house.gateway.sessions > 0 && socket.writableLength < 10_000_000) socket.write(pings);
      return house.gateway.sessions === 0;
    });
  });

  it('M1 a frame that is announced and never finished does not outlive two heartbeats', async () => {
    const { house, token } = await start({ heartbeatSec: 0.2 });
    const socket = await rawSocket(house.url, await token());
    socket.write(Buffer.concat([register('loc1'), Buffer.from([0x81, 0xfe, 0xff, 0xff, 1, 2, 3, 4])]));
    await until(async () => (await house.send('loc1')) === 'written');
    await until(() => house.gateway.sessions === 0);
  });
});

describe('any bytes at all', () => {
  it('M1 no bytes of one Mac trouble another', async () => {
    const { house, join, token } = await start();
    const neighbour = await join('healthy');
    const shared = await token();
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
          const socket = await rawSocket(house.url, shared);
          socket.write(Buffer.concat([register('junk'), ...pieces]));
          expect(await house.send('healthy')).toBe('written');
          await neighbour.nextFrame('send');
          socket.resetAndDestroy();
        },
      ),
      { numRuns: 150 },
    );
    await until(() => house.gateway.sessions === 1);
    expect(neighbour.isOpen).toBe(true);
  });
});

/** A WebSocket frame as a client masks it. */
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

async function rawSocket(url: string, token: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connectTcp(Number(port), hostname);
  socket.on('error', () => {});
  cleanup.add(() => socket.destroy());
  socket.write(
    `GET /mac/socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: footbridge.v1\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  await new Promise<void>((resolve) => {
    socket.once('data', () => resolve());
  });
  return socket;
}

/** The code of the close frame, which the server sends unmasked. */
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
