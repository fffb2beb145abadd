import { ANIMATION, INBOUND_REACTION, INBOUND_STICKER, VOICE } from './metadata.ts';
import { readJson } from './read-json.ts';
import { checkAgainst, isObject, type FromSchema, type ObjectSchema } from './schema.ts';

export const SUBPROTOCOL = 'footbridge.v1';
export const MAX_FRAME_BYTES = 256 * 1024;
/** Length of the text of one frame in UTF-16 code units, footer included. */
export const MAX_TEXT_UNITS = 100_000;
/** Attachments of one `send`. */
export const MAX_ATTACHMENTS = 20;
/** Attachments of one `message_received`. */
export const MAX_RECEIVED_ATTACHMENTS = 100;
export const MAX_CONTACT_ID = 1024;
/** Length of `error.message` in `message_status` and of `reason` in `ack` and `reach_result`. */
export const MAX_EXPLANATION = 1000;

/** What a Mac lists in `capabilities` so that the service relies on it. */
export const CAPABILITY = {
  /** It confirms `send` frames (M10). */
  confirms: 'received',
  /** It replies to `reach_request`. */
  repliesToReach: 'reach',
} as const;

const SERVICES = ['iMessage', 'SMS', 'RCS'] as const;

const wholeNumber = { type: 'integer', minimum: 0 } as const;
const seq = wholeNumber;
const guid = { type: 'string', minLength: 1, maxLength: 256 } as const;
const requestId = { type: 'string', minLength: 1, maxLength: 128 } as const;
const locationId = { type: 'string', minLength: 1, maxLength: 256 } as const;
const messageId = { type: ['string', 'null'], minLength: 1, maxLength: 256 } as const;
const label = { type: 'string', maxLength: 128 } as const;
const handle = { type: 'string', minLength: 1, maxLength: 320 } as const;
const capabilities = { type: 'array', items: label, maxItems: 64 } as const;
const permission = { type: 'string', enum: ['granted', 'denied', 'unknown'] } as const;
const lastTime = { type: ['string', 'null'], maxLength: 40, format: 'date-time' } as const;
const attachment = { type: 'string', minLength: 1, maxLength: 2048, format: 'uri' } as const;

/** Frames that a Mac sends to the service. */
const MAC_FRAMES = {
  register: {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['register'] },
      locationId,
      agent: { type: 'object', properties: { version: label }, required: ['version'] },
      os: { type: 'object', properties: { name: label, version: label }, required: ['name', 'version'] },
      capabilities,
    },
    required: ['type', 'locationId', 'agent', 'os', 'capabilities'],
  },
  received: {
    type: 'object',
    properties: { type: { type: 'string', enum: ['received'] }, requestId },
    required: ['type', 'requestId'],
  },
  state: {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['state'] },
      capabilities,
      macos: { type: 'object', properties: { version: label, build: label }, required: ['version'] },
      permissions: {
        type: 'object',
        properties: { fullDisk: permission, automation: permission, accessibility: permission },
        required: [],
      },
      messages: {
        type: 'object',
        properties: {
          running: { type: 'boolean' },
          signedIn: { type: 'boolean' },
          services: { type: 'array', items: label, maxItems: 8 },
          store: label,
        },
        required: [],
      },
      session: { type: 'string', enum: ['active', 'locked', 'away'] },
      queue: {
        type: 'object',
        properties: { pending: wholeNumber, oldestSec: wholeNumber },
        required: ['pending'],
      },
      pacing: {
        type: 'object',
        properties: {
          minGapMs: wholeNumber,
          maxGapMs: wholeNumber,
          newPerHour: wholeNumber,
          newLastHour: wholeNumber,
          newPerDay: wholeNumber,
          newLastDay: wholeNumber,
          warmUpDay: wholeNumber,
          warmUpDays: wholeNumber,
          maxUnanswered: wholeNumber,
          maxAnswers: wholeNumber,
          held: wholeNumber,
          nextSlotAt: { type: 'string', maxLength: 40, format: 'date-time' },
        },
        required: ['minGapMs', 'maxGapMs'],
      },
      canary: {
        type: 'object',
        properties: {
          lastOkAt: lastTime,
          failedSince: { type: 'string', maxLength: 40, format: 'date-time' },
          code: label,
        },
        required: ['lastOkAt'],
      },
      lastSentAt: lastTime,
      lastReceivedAt: lastTime,
    },
    required: ['type', 'capabilities', 'lastSentAt', 'lastReceivedAt'],
  },
  message_status: {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['message_status'] },
      seq,
      requestId,
      messageId,
      status: { type: 'string', enum: ['delivered', 'failed'] },
      error: {
        type: 'object',
        properties: {
          code: { type: 'string', minLength: 1, maxLength: 64 },
          message: { type: 'string', maxLength: MAX_EXPLANATION },
        },
        required: ['code', 'message'],
      },
      guid,
    },
    required: ['type', 'seq', 'requestId', 'messageId', 'status'],
  },
  message_received: {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['message_received'] },
      seq,
      guid,
      sender: handle,
      service: { type: 'string', enum: SERVICES },
      text: { type: 'string', maxLength: MAX_TEXT_UNITS },
      sentAt: { type: 'string', maxLength: 40, format: 'date-time' },
      chat: {
        type: 'object',
        properties: {
          id: { type: 'integer' },
          isGroup: { type: 'boolean' },
          recipients: { type: 'array', items: handle, maxItems: 64 },
        },
        required: ['id', 'isGroup', 'recipients'],
      },
      attachments: { type: 'array', items: attachment, maxItems: MAX_RECEIVED_ATTACHMENTS },
      reaction: INBOUND_REACTION,
      sticker: INBOUND_STICKER,
      voice: VOICE,
      animation: ANIMATION,
      replyTo: { type: 'object', properties: { guid }, required: ['guid'] },
      fromMe: { type: 'boolean' },
      setAside: { type: 'boolean' },
    },
    required: ['type', 'seq', 'guid', 'sender', 'service', 'text', 'sentAt', 'chat', 'attachments'],
  },
  reach_result: {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['reach_result'] },
      requestId,
      reach: { type: 'string', enum: ['iMessage', 'SMS', 'unknown'] },
      reason: { type: 'string', maxLength: MAX_EXPLANATION },
    },
    required: ['type', 'requestId', 'reach', 'reason'],
  },
} as const;

/** Frames that the service sends to a Mac. */
const SERVICE_FRAMES = {
  registered: {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['registered'] },
      locationId,
      sessionId: { type: 'string', minLength: 1, maxLength: 128 },
      window: { type: 'integer', minimum: 1 },
      mirror: { type: 'boolean' },
    },
    required: ['type', 'locationId', 'sessionId', 'window'],
  },
  send: {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['send'] },
      requestId,
      messageId,
      contactId: { type: 'string', minLength: 1, maxLength: MAX_CONTACT_ID },
      phone: { type: 'string', minLength: 1, maxLength: 64 },
      message: { type: ['string', 'null'], maxLength: MAX_TEXT_UNITS },
      attachments: { type: 'array', items: attachment, maxItems: MAX_ATTACHMENTS },
      channel: { type: 'string', enum: ['imessage', 'sms'] },
      again: { type: 'boolean' },
      traceparent: { type: 'string', maxLength: 128 },
    },
    required: ['type', 'requestId', 'messageId', 'contactId', 'phone', 'message', 'attachments', 'channel'],
  },
  redeliver: {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['redeliver'] },
      seq,
      messageId: { type: 'string', minLength: 1, maxLength: 256 },
    },
    required: ['type', 'seq'],
  },
  reach_request: {
    type: 'object',
    properties: { type: { type: 'string', enum: ['reach_request'] }, requestId, phone: handle },
    required: ['type', 'requestId', 'phone'],
  },
  ack: {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['ack'] },
      seq,
      outcome: { type: 'string', enum: ['delivered', 'skipped', 'rejected'] },
      reason: { type: 'string', maxLength: MAX_EXPLANATION },
    },
    required: ['type', 'seq', 'outcome'],
  },
} as const;

/** Every frame as JSON Schema, by sender and type. The types below and the published document derive from it. */
export const FRAME_SHAPES = { mac: MAC_FRAMES, service: SERVICE_FRAMES } as const;

export type RegisterFrame = FromSchema<typeof MAC_FRAMES.register>;
export type MessageStatusFrame = FromSchema<typeof MAC_FRAMES.message_status>;
export type MessageReceivedFrame = FromSchema<typeof MAC_FRAMES.message_received>;
export type ReceivedFrame = FromSchema<typeof MAC_FRAMES.received>;
export type StateFrame = FromSchema<typeof MAC_FRAMES.state>;
export type ReachResultFrame = FromSchema<typeof MAC_FRAMES.reach_result>;
export type MacFrame =
  | RegisterFrame
  | ReceivedFrame
  | StateFrame
  | MessageStatusFrame
  | MessageReceivedFrame
  | ReachResultFrame;

export type RegisteredFrame = FromSchema<typeof SERVICE_FRAMES.registered>;
export type SendFrame = FromSchema<typeof SERVICE_FRAMES.send>;
export type RedeliverFrame = FromSchema<typeof SERVICE_FRAMES.redeliver>;
export type ReachRequestFrame = FromSchema<typeof SERVICE_FRAMES.reach_request>;
export type AckFrame = FromSchema<typeof SERVICE_FRAMES.ack>;
/** What became of a frame from a Mac. `retry`: it is not acknowledged, so the Mac keeps it and sends it again. */
export type AckOutcome =
  | { readonly outcome: 'delivered' }
  | { readonly outcome: 'skipped' }
  | { readonly outcome: 'rejected'; readonly reason: string }
  | 'retry';
export type ServiceFrame = RegisteredFrame | SendFrame | RedeliverFrame | ReachRequestFrame | AckFrame;

/**
 * `unknown`: a frame type of a later version, to be ignored and counted. `invalid`: the sender violated the protocol; `seq`
 * and `request` are set if they are readable, so that the receiver can still refer to the frame and reject the request; `type` is
 * set if it is known.
 * The reason never contains a value of the frame.
 */
export type Parsed<F> =
  | { readonly kind: 'frame'; readonly frame: F }
  | { readonly kind: 'unknown'; readonly type: string }
  | Invalid;

interface Invalid {
  readonly kind: 'invalid';
  readonly reason: string;
  readonly type?: string;
  readonly seq?: number;
  readonly request?: RequestNames;
}

/** The ids of a request and of its CRM message. */
export type RequestNames = Pick<SendFrame, 'requestId' | 'messageId'>;

/** Parses a frame sent by a Mac. Unknown fields are dropped, and an unknown `service` becomes `SMS`. */
export function parseMacFrame(text: string): Parsed<MacFrame> {
  const parsed = parse<MacFrame>(MAC_FRAMES, text);
  if (parsed.kind !== 'frame') return parsed;
  const problem = crossFieldProblem(parsed.frame);
  return problem === undefined ? parsed : invalid(problem, parsed.frame);
}

/** Parses a frame sent by the service. Unknown fields are dropped. */
export function parseServiceFrame(text: string): Parsed<ServiceFrame> {
  return parse<ServiceFrame>(SERVICE_FRAMES, text);
}

/** Serialises a frame. Lone surrogates become U+FFFD, because the receiver would reject the frame. */
export function writeFrame(frame: MacFrame | ServiceFrame): string {
  const text = JSON.stringify(frame);
  // JSON.stringify escapes lone surrogates. Without such an escape, the slow pass over every value is skipped.
  return text.includes('\\ud') ? JSON.stringify(frame, wellFormed) : text;
}

const wellFormed = (_: string, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value);

/** Default values of fields that a frame may omit. */
const DEFAULTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  register: { agent: { version: '' }, os: { name: '', version: '' }, capabilities: [] },
  state: { capabilities: [], lastSentAt: null, lastReceivedAt: null },
  message_status: { messageId: null },
  message_received: { text: '', attachments: [] },
};

function parse<F>(shapes: Readonly<Record<string, ObjectSchema>>, text: string): Parsed<F> {
  const json = readJson(text);
  if (!isObject(json)) return { kind: 'invalid', reason: 'a frame must be one JSON object' };
  if (typeof json['type'] !== 'string') return invalid('type must be a string', json);
  const shape = Object.hasOwn(shapes, json['type']) ? shapes[json['type']] : undefined;
  if (!shape) return { kind: 'unknown', type: json['type'].slice(0, 64).toWellFormed() };
  const checked = checkAgainst(shape, withKnownService(json), DEFAULTS[json['type']]);
  return checked.ok
    ? { kind: 'frame', frame: checked.value as F }
    : { ...invalid(`${json['type']}: ${checked.reason}`, json), type: json['type'] };
}

/** A later macOS may add a service. For the CRM it makes no difference (I1), so the message must not get lost over it. */
function withKnownService(json: Record<string, unknown>): Record<string, unknown> {
  const { service } = json;
  const isKnown = typeof service !== 'string' || SERVICES.some((known) => known === service);
  return isKnown ? json : { ...json, service: 'SMS' };
}

function invalid(reason: string, frame: object): Invalid {
  const number = checkAgainst(seq, 'seq' in frame ? frame.seq : undefined);
  const request = checkAgainst(REQUEST_NAMES, frame);
  return {
    kind: 'invalid',
    reason,
    ...(number.ok && { seq: number.value }),
    ...(request.ok && { request: request.value }),
  };
}

const REQUEST_NAMES = {
  type: 'object',
  properties: { type: SERVICE_FRAMES.send.properties.type, requestId, messageId },
  required: ['type', 'requestId', 'messageId'],
} as const;

const CONTENTS = ['reaction', 'sticker', 'voice', 'animation'] as const;

function countContents(frame: MessageReceivedFrame): number {
  let count = 0;
  for (const name of CONTENTS) if (frame[name] !== undefined) count++;
  return count;
}

function crossFieldProblem(frame: MacFrame): string | undefined {
  if (frame.type === 'message_status' && frame.status === 'failed' && !frame.error) {
    return 'message_status: error must be present when status is failed';
  }
  if (frame.type === 'message_received' && countContents(frame) > 1) {
    return `message_received: at most one of ${CONTENTS.join(', ')} may be present`;
  }
  return undefined;
}
