import { CLOSE, staysAway } from '@footbridge/protocol/close-codes';
import type { CloseCode } from '@footbridge/protocol/close-codes';
import { FRAME_SHAPES, MAX_FRAME_BYTES, SUBPROTOCOL } from '@footbridge/protocol/frames';
import type { MacFrame, ServiceFrame } from '@footbridge/protocol/frames';

import { EXAMPLES } from './frame-examples.ts';

type FrameType = (MacFrame | ServiceFrame)['type'];

const SUMMARIES: Readonly<Record<FrameType, string>> = {
  register: 'Requests a location. Must be the first frame, sent once and within 10 seconds.',
  received:
    'The `send` is in the journal of the Mac. Not acknowledged. A Mac that sends it lists `received` in the `capabilities` of `register`.',
  state:
    'What the operator needs to know about the Mac. Sent after `registered` and on every change, at most once in 10 seconds. Not acknowledged.',
  message_status: 'The outcome of a message from a `send` frame. `error` is present when it failed.',
  message_received:
    'A message that arrived on the Mac. At most one of `reaction`, `sticker`, `voice` and `animation` is present.',
  reach_result:
    'The reply to `reach_request`, from the history of Messages. Not acknowledged. A Mac that sends it lists `reach` in the `capabilities` of `register`.',
  registered: 'The location is bound to this Mac. `window` frames may be unacknowledged at a time.',
  send: 'A message to send. Written again with `again` after a reconnect, until `received` confirms it; a repeat has the same `requestId`.',
  redeliver: 'Requests a rejected frame again, under a new `seq`.',
  reach_request:
    'Asks whether a person was last reached by iMessage or by SMS. Nothing is sent to the person.',
  ack: 'The outcome of the frame with this `seq`; acks arrive in any order. `reason` is present when it was rejected.',
};

/** What each close code means, and what the Mac does after it. */
export const CLOSE_MEANINGS: Readonly<Record<CloseCode, readonly [meaning: string, macThen: string]>> = {
  [CLOSE.goingAway]: [
    'The service is shutting down, or cannot serve this Mac now.',
    'reconnects, with jitter',
  ],
  [CLOSE.tooLarge]: [
    `A frame was larger than ${MAX_FRAME_BYTES} bytes.`,
    'reconnects; the frame is set aside and reported',
  ],
  [CLOSE.protocol]: [
    'The protocol was violated, the same device connected again or got a new token, or the operator disconnected it; the reason says which.',
    'waits a minute, reconnects',
  ],
  [CLOSE.slow]: [
    'No `register` in time, or the Mac does not read: 1 MB unsent, or no progress for 10 seconds.',
    'reconnects with backoff',
  ],
  [CLOSE.window]: ['Too many frames are unacknowledged.', 'reconnects with backoff'],
  [CLOSE.contended]: [
    'Several Macs compete for this location; the reason is the number of seconds to wait.',
    'waits that long',
  ],
  [CLOSE.displaced]: ['Another Mac took over the location.', 'stays away'],
  [CLOSE.suspended]: ['The license is suspended, or the device is no longer active.', 'stays away'],
  [CLOSE.foreignLocation]: [
    'The location belongs to another license, or is not assigned to this one, or the Mac was paired with a code for another location.',
    'stays away',
  ],
};

/** The Mac channel as an AsyncAPI 3 document, generated from the schemas that validate frames. */
export function asyncApiDocument({ version, url }: { version: string; url: string }): object {
  const { host, protocol } = new URL(url);
  const [fromMac, toMac] = [Object.keys(FRAME_SHAPES.mac), Object.keys(FRAME_SHAPES.service)];
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Footbridge: the Mac channel',
      version,
      description:
        'The socket between the service and a Mac. Text frames, one JSON object each with a string `type`; no compression. ' +
        'Unknown fields are ignored; an unknown `type` is ignored and counted. The service pings; two unanswered pings end the session. ' +
        'The Mac numbers its frames with a growing `seq` that is never reused for another frame; after every `registered` it sends all ' +
        'unacknowledged frames again, oldest first.',
    },
    servers: { service: { host, protocol: protocol === 'https:' ? 'wss' : 'ws' } },
    defaultContentType: 'application/json',
    channels: {
      mac: {
        address: '/mac/socket',
        description: `WebSocket, subprotocol ${SUBPROTOCOL}, at most ${MAX_FRAME_BYTES} bytes per frame.`,
        servers: [{ $ref: '#/servers/service' }],
        messages: Object.fromEntries(
          [...fromMac, ...toMac].map((type) => [type, { $ref: `#/components/messages/${type}` }]),
        ),
        bindings: { ws: { method: 'GET', headers: UPGRADE_HEADERS, bindingVersion: '0.1.0' } },
      },
    },
    operations: {
      receiveFromMac: operation('receive', 'Frames from a Mac to the service.', fromMac),
      sendToMac: operation('send', 'Frames from the service to a Mac.', toMac),
    },
    components: {
      messages: Object.fromEntries(
        Object.entries(SUMMARIES).map(([type, summary]) => [type, message(type, summary)]),
      ),
      schemas: { ...FRAME_SHAPES.mac, ...FRAME_SHAPES.service },
      securitySchemes: {
        deviceToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'The token that `POST /mac/activate` returned.',
        },
      },
    },
    'x-close-codes': Object.entries(CLOSE_MEANINGS).map(([code, [meaning, macThen]]) => ({
      code: Number(code),
      meaning,
      comesBack: !staysAway(Number(code)),
      macThen,
    })),
  };
}

const UPGRADE_HEADERS = {
  type: 'object',
  properties: {
    Authorization: { type: 'string', description: '`Bearer` and the device token.' },
    'Sec-WebSocket-Protocol': { type: 'string', const: SUBPROTOCOL },
  },
  required: ['Authorization', 'Sec-WebSocket-Protocol'],
};

function operation(action: 'send' | 'receive', summary: string, types: readonly string[]): object {
  return {
    action,
    summary,
    channel: { $ref: '#/channels/mac' },
    messages: types.map((type) => ({ $ref: `#/channels/mac/messages/${type}` })),
    ...(action === 'receive' && { security: [{ $ref: '#/components/securitySchemes/deviceToken' }] }),
  };
}

function message(type: string, summary: string): object {
  return {
    name: type,
    summary,
    payload: { $ref: `#/components/schemas/${type}` },
    examples: EXAMPLES.filter((example) => example.type === type).map((payload) => ({ payload })),
  };
}
