import { ANY_CHARACTER } from '@footbridge/testkit/any-character';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MAX_FRAME_BYTES,
  MAX_TEXT_UNITS,
  parseMacFrame,
  parseServiceFrame,
  SUBPROTOCOL,
  writeFrame,
  type MacFrame,
  type MessageReceivedFrame,
  type MessageStatusFrame,
  type RegisterFrame,
  type SendFrame,
  type StateFrame,
  type ServiceFrame,
} from './frames.ts';

const register: RegisterFrame = {
  type: 'register',
  locationId: 'locTEST1',
  agent: { version: '1.2.3' },
  os: { name: 'macOS', version: '26.1' },
  capabilities: ['reactions'],
};
const state: StateFrame = {
  type: 'state',
  capabilities: ['text', 'groups'],
  macos: { version: '26.1', build: '25B78' },
  permissions: { fullDisk: 'granted', automation: 'denied', accessibility: 'unknown' },
  messages: { running: true, signedIn: false, services: ['iMessage'] },
  session: 'locked',
  queue: { pending: 3, oldestSec: 40 },
  pacing: {
    minGapMs: 1000,
    maxGapMs: 3000,
    newPerHour: 20,
    newLastHour: 3,
    newPerDay: 100,
    newLastDay: 40,
    warmUpDay: 2,
    warmUpDays: 7,
    maxUnanswered: 5,
    maxAnswers: 20,
    held: 1,
    nextSlotAt: '2026-05-01T13:00:00.000Z',
  },
  lastSentAt: '2026-05-01T12:00:00.000Z',
  lastReceivedAt: null,
};
const delivered: MessageStatusFrame = {
  type: 'message_status',
  seq: 1,
  requestId: 'r-1',
  messageId: null,
  status: 'delivered',
  guid: 'g-1',
};
const failed: MessageStatusFrame = {
  type: 'message_status',
  seq: 2,
  requestId: 'r-2',
  messageId: 'm-2',
  status: 'failed',
  error: { code: 'TIMEOUT', message: 'It took too long.' },
};
const received: MessageReceivedFrame = {
  type: 'message_received',
  seq: 3,
  guid: 'g-3',
  sender: '+14155550100',
  service: 'iMessage',
  text: '',
  sentAt: '2026-05-01T12:00:00.000Z',
  chat: { id: 42, isGroup: false, recipients: ['+14155550100'] },
  attachments: ['https://bridge.test/assets/a/b.png'],
  replyTo: { guid: 'g-1' },
};
const reaction = { kind: 'classic', action: 'add', target_message_guid: 'g-1', type: 'love' } as const;
const contents = {
  reaction,
  sticker: { guid: 's-1', mime_type: 'image/png' },
  voice: { duration_ms: 900, mime_type: 'audio/mp4' },
  animation: { effect: 'slam', kind: 'bubble' },
} as const;
const macFrames: MacFrame[] = [
  register,
  state,
  { type: 'state', capabilities: [], lastSentAt: null, lastReceivedAt: null },
  delivered,
  failed,
  received,
  { type: 'reach_result', requestId: 'r-2', reach: 'unknown', reason: 'no message with this number yet' },
  ...Object.entries(contents).map(([name, value]) => ({ ...received, [name]: value })),
];

const send: SendFrame = {
  type: 'send',
  requestId: 'r-1',
  messageId: 'm-1',
  contactId: 'c-1',
  phone: '+14155550100',
  message: 'Hi',
  attachments: [],
  channel: 'imessage',
};
const serviceFrames: ServiceFrame[] = [
  { type: 'registered', locationId: 'locTEST1', sessionId: 's-1', window: 64 },
  send,
  { ...send, message: null, messageId: null, attachments: ['http://files.test/a'], channel: 'sms' },
  { type: 'redeliver', seq: 9 },
  { type: 'reach_request', requestId: 'r-2', phone: '+14155550100' },
  { type: 'ack', seq: 3, outcome: 'delivered' },
  { type: 'ack', seq: 3, outcome: 'rejected', reason: 'no such contact' },
];

const changed = (frame: object, change: object) => JSON.stringify({ ...frame, ...change });
const without = (frame: object, name: string) =>
  JSON.stringify(Object.fromEntries(Object.entries(frame).filter(([key]) => key !== name)));

describe('valid frames', () => {
  it.each(macFrames.map((frame) => [frame.type, frame] as const))(
    'a %s frame from the Mac survives a round trip',
    (_, frame) => {
      expect(parseMacFrame(writeFrame(frame))).toEqual({ kind: 'frame', frame });
    },
  );

  it.each(serviceFrames.map((frame) => [frame.type, frame] as const))(
    'a %s frame from the service survives a round trip',
    (_, frame) => {
      expect(parseServiceFrame(writeFrame(frame))).toEqual({ kind: 'frame', frame });
    },
  );

  it('the subprotocol name and the frame size limit are fixed', () => {
    expect([SUBPROTOCOL, MAX_FRAME_BYTES]).toEqual(['footbridge.v1', 262_144]);
  });

  it('F4 unknown fields are dropped at every depth', () => {
    const text = changed(received, {
      later: 1,
      chat: { ...received.chat, later: 2 },
      reaction: { ...reaction, later: 3, sticker: { guid: 's', later: 4 } },
    });
    expect(parseMacFrame(text)).toEqual({
      kind: 'frame',
      frame: { ...received, reaction: { ...reaction, sticker: { guid: 's' } } },
    });
  });

  it('F4 an unknown kind of reaction is accepted', () => {
    expect(parseMacFrame(changed(received, { reaction: { ...reaction, kind: 'memoji' } }))).toMatchObject({
      kind: 'frame',
      frame: { reaction: { kind: 'memoji' } },
    });
  });

  it('F4 a field named __proto__ has no effect', () => {
    const text = writeFrame(delivered).replace('{', '{"__proto__":{"error":{"code":"X","message":"x"}},');
    expect(parseMacFrame(text)).toEqual({ kind: 'frame', frame: delivered });
  });

  it('a lone surrogate is replaced when the frame is written', () => {
    expect(parseServiceFrame(writeFrame({ ...send, message: 'a\ud800b' }))).toMatchObject({
      kind: 'frame',
      frame: { message: 'a\ufffdb' },
    });
  });
});

describe('invalid frames', () => {
  it.each(['', '{', 'null', '[]', '7', '"register"', '\0', '{"type":"ack"}}'])(
    '%j is not a frame',
    (text) => {
      expect(parseMacFrame(text)).toEqual({ kind: 'invalid', reason: 'a frame must be one JSON object' });
      expect(parseServiceFrame(text)).toMatchObject({ kind: 'invalid' });
    },
  );

  it.each([undefined, 7, null, ['ack']])('a type must be a string, not %j', (type) => {
    expect(parseMacFrame(JSON.stringify({ type, seq: 4 }))).toEqual({
      kind: 'invalid',
      reason: 'type must be a string',
      seq: 4,
    });
  });

  it.each(['hello', 'toString', '__proto__', 'send', ''])(
    'F4 a frame of the unknown type %j is reported as unknown, not as invalid',
    (type) => {
      expect(parseMacFrame(JSON.stringify({ type, seq: 1 }))).toEqual({ kind: 'unknown', type });
    },
  );

  it('F4 a long unknown type is truncated', () => {
    expect(parseMacFrame(JSON.stringify({ type: '😀'.repeat(1000) }))).toEqual({
      kind: 'unknown',
      type: '😀'.repeat(32),
    });
  });

  it.each(
    [...macFrames, ...serviceFrames].flatMap((frame) =>
      Object.keys(frame).map((name) => [frame.type, name, frame] as const),
    ),
  )('%s: a %s of the wrong type is rejected, and the reason does not repeat the value', (_, name, frame) => {
    if (name === 'type') return;
    for (const value of [{ secret: 'SECRET' }, ['SECRET', {}], 1.5, true, -1]) {
      const parse = macFrames.some((known) => known === frame) ? parseMacFrame : parseServiceFrame;
      const parsed = parse(changed(frame, { [name]: value }));
      if (parsed.kind !== 'invalid') {
        expect(['voice', 'permissions', 'messages'], 'objects without required fields').toContain(name);
        expect(value).toEqual({ secret: 'SECRET' });
        continue;
      }
      expect(parsed.reason).toContain(`${frame.type}: ${name}`);
      expect(parsed.reason).not.toContain('SECRET');
      expect(parsed.reason.length).toBeLessThan(200);
    }
  });

  it.each([
    ['agent', register, { version: '' }],
    ['os', register, { name: '', version: '' }],
    ['capabilities', register, []],
    ['capabilities', state, []],
    ['lastSentAt', state, null],
    ['lastReceivedAt', state, null],
    ['messageId', delivered, null],
    ['text', received, ''],
    ['attachments', received, []],
  ] as const)('%s has a default value', (name, frame, value) => {
    expect(parseMacFrame(changed(frame, { [name]: undefined }))).toMatchObject({
      kind: 'frame',
      frame: { [name]: value },
    });
  });

  it.each([
    ...['macos', 'permissions', 'messages', 'session', 'queue'].map((name) => [name, state] as const),
    ...['error', 'guid'].map((name) => [name, delivered] as const),
    ...['reaction', 'sticker', 'voice', 'animation', 'replyTo'].map((name) => [name, received] as const),
  ])('a %s of null is equivalent to an absent one', (name, frame) => {
    const parsed = parseMacFrame(changed(frame, { [name]: null }));
    expect(parsed).toEqual(parseMacFrame(without(frame, name)));
    expect(parsed.kind).toBe('frame');
  });

  it.each([
    ['locationId', register] as const,
    ...['seq', 'requestId', 'status'].map((name) => [name, delivered] as const),
    ...['seq', 'guid', 'sender', 'service', 'sentAt', 'chat'].map((name) => [name, received] as const),
  ])('%s is required', (name, frame) => {
    expect(parseMacFrame(without(frame, name))).toMatchObject({
      kind: 'invalid',
      reason: `${frame.type}: ${name} must be present`,
    });
  });

  it.each([
    ['an empty guid', received, { guid: '' }],
    ['a guid of 257 characters', received, { guid: 'x'.repeat(257) }],
    ['a lone surrogate in a guid', received, { guid: '\ud800' }],
    ['a sender of 321 characters', received, { sender: 'x'.repeat(321) }],
    ['65 recipients', received, { chat: { ...received.chat, recipients: Array<string>(65).fill('x') } }],
    ['101 attachments', received, { attachments: Array<string>(101).fill('https://a.test/') }],
    ['an attachment that is not a URL', received, { attachments: ['a.png'] }],
    ['an attachment with a file URL', received, { attachments: ['file:///etc/passwd'] }],
    ['an attachment of 2049 characters', received, { attachments: [`https://a.test/${'x'.repeat(2034)}`] }],
    ['a text over the limit', received, { text: 'x'.repeat(MAX_TEXT_UNITS + 1) }],
    ['a date without a time', received, { sentAt: '2026-05-01' }],
    ['a month that does not exist', received, { sentAt: '2026-13-01T00:00:00Z' }],
    ['a date in words', received, { sentAt: 'yesterday' }],
    ['a service that is not a string', received, { service: 7 }],
    ['a permission that is neither granted, denied nor unknown', state, { permissions: { fullDisk: 'yes' } }],
    ['65 capabilities', state, { capabilities: Array<string>(65).fill('x') }],
    ['a build of 129 characters', state, { macos: { version: '26.1', build: 'x'.repeat(129) } }],
    ['a queue of negative length', state, { queue: { pending: -1 } }],
    ['a last send in words', state, { lastSentAt: 'yesterday' }],
    ['an unknown session', state, { session: 'asleep' }],
    ['a negative seq', delivered, { seq: -1 }],
    ['a seq beyond the safe integers', delivered, { seq: 2 ** 53 }],
    ['a seq that is a fraction', delivered, { seq: 0.5 }],
    ['a seq that is a string', delivered, { seq: '1' }],
    ['a status that is not terminal', delivered, { status: 'pending' }],
    ['a failure without an error', delivered, { status: 'failed' }],
    ['a failure without a code', failed, { error: { message: 'x' } }],
    ['a reaction without a target', received, { reaction: { kind: 'classic', action: 'add' } }],
    ['a reaction with an unknown action', received, { reaction: { ...reaction, action: 'toggle' } }],
    ['a voice message of negative duration', received, { voice: { duration_ms: -1 } }],
    ['an animation of an unknown kind', received, { animation: { effect: 'slam', kind: 'window' } }],
    ['a reply without a target', received, { replyTo: {} }],
  ])('rejects %s', (_, frame, change) => {
    expect(parseMacFrame(changed(frame, change))).toMatchObject({ kind: 'invalid' });
  });

  it('I1 reads a service that it does not know as SMS', () => {
    expect(parseMacFrame(changed(received, { service: 'Satellite' }))).toEqual({
      kind: 'frame',
      frame: { ...received, service: 'SMS' },
    });
  });

  it('F5 rejects more than one of reaction, sticker, voice and animation', () => {
    const pairs = Object.keys(contents).flatMap((a, i, all) => all.slice(i + 1).map((b) => [a, b] as const));
    for (const [a, b] of pairs) {
      const both = Object.fromEntries(Object.entries(contents).filter(([name]) => name === a || name === b));
      expect(parseMacFrame(changed(received, both))).toMatchObject({ kind: 'invalid', seq: 3 });
    }
  });

  it('the result for an invalid frame includes its type if it is known', () => {
    expect(parseMacFrame(changed(state, { session: 7 }))).toMatchObject({ kind: 'invalid', type: 'state' });
    expect(parseMacFrame('{"type":7}')).not.toHaveProperty('type');
  });

  it('the result for an invalid frame includes its seq if it is readable', () => {
    expect(parseMacFrame(changed(failed, { status: 'lost' }))).toMatchObject({ kind: 'invalid', seq: 2 });
    expect(parseMacFrame(changed(failed, { seq: -2 }))).not.toHaveProperty('seq');
  });
});

it('no input makes a parser throw, and every parsed frame survives a round trip', () => {
  const almostValid = fc
    .tuple(
      fc.constantFrom<object>(...macFrames, ...serviceFrames),
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
    )
    .map(([frame, change]) => changed(frame, change));
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: ANY_CHARACTER }), fc.json({ maxDepth: 2 }), almostValid),
      (text) => {
        for (const parse of [parseMacFrame, parseServiceFrame]) {
          const parsed = parse(text);
          if (parsed.kind === 'frame') expect(parse(writeFrame(parsed.frame))).toEqual(parsed);
        }
      },
    ),
    { numRuns: 200 },
  );
});
