import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';

import { WebSocketServer } from 'ws';
import type { RawData, WebSocket } from 'ws';
import { z } from 'zod';

import { contactOf, postInbound } from './crm-client.ts';
import { logger } from './logger.ts';
import { reportOutcome } from './statuses.ts';

const registerFrame = z.object({ type: z.literal('register'), locationId: z.string().min(1) });

const macFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('received'), requestId: z.string() }),
  z.object({
    type: z.literal('message_status'),
    seq: z.number().int(),
    requestId: z.string(),
    messageId: z.string().nullable(),
    status: z.enum(['delivered', 'failed']),
    error: z.object({ code: z.string(), message: z.string() }).optional(),
  }),
  z.object({
    type: z.literal('message_received'),
    seq: z.number().int(),
    guid: z.string().min(1),
    sender: z.string().min(1),
    text: z.string(),
    attachments: z.array(z.url()).max(20),
  }),
]);

type MacFrame = z.infer<typeof macFrame>;

const macs = new Map<string, WebSocket>();
const seenGuids = new Set<string>();

/** Writes a frame to the Mac of a location. Returns false if none is connected. */
export function sendToMac(locationId: string, frame: object): boolean {
  const mac = macs.get(locationId);
  if (mac === undefined || mac.readyState !== mac.OPEN) return false;
  mac.send(JSON.stringify(frame));
  return true;
}

export function acceptMacs(server: Server): void {
  const sockets = new WebSocketServer({ server, path: '/mac/socket', maxPayload: 256 * 1024 });
  sockets.on('connection', (mac) => {
    let locationId: string | undefined;
    const receive = async (data: RawData) => {
      const json: unknown = JSON.parse(Buffer.isBuffer(data) ? data.toString() : '');
      if (locationId === undefined) {
        locationId = registerFrame.parse(json).locationId;
        register(locationId, mac);
      } else await handleFrame(locationId, mac, macFrame.parse(json));
    };
    mac.on('message', (data) => {
      receive(data).catch((error: Error) =>
        logger.error('frame failed', { locationId, error: error.message }),
      );
    });
    mac.on('close', () => {
      if (locationId !== undefined && macs.get(locationId) === mac) macs.delete(locationId);
    });
    mac.on('error', (error) => logger.warn('socket error', { locationId, error: error.message }));
  });
  keepAlive(sockets);
}

function register(locationId: string, mac: WebSocket): void {
  macs.get(locationId)?.close(4501, 'displaced');
  macs.set(locationId, mac);
  mac.send(JSON.stringify({ type: 'registered', locationId, sessionId: randomUUID(), window: 64 }));
  logger.info('mac registered', { locationId });
}

async function handleFrame(locationId: string, mac: WebSocket, frame: MacFrame): Promise<void> {
  if (frame.type === 'received') return;
  if (frame.type === 'message_received') await deliverInbound(locationId, frame);
  else if (frame.messageId !== null) {
    const error = frame.error && { ...frame.error, type: 'error' as const };
    await reportOutcome(frame.requestId, locationId, frame.messageId, frame.status, error);
  }
  mac.send(JSON.stringify({ type: 'ack', seq: frame.seq, outcome: 'delivered' }));
}

async function deliverInbound(
  locationId: string,
  frame: Extract<MacFrame, { type: 'message_received' }>,
): Promise<void> {
  const guid = `${locationId}:${frame.guid}`;
  if (seenGuids.has(guid)) return;
  const contactId = await contactOf(locationId, frame.sender);
  await postInbound({
    locationId,
    contactId,
    message: frame.text,
    attachments: frame.attachments.length > 0 ? frame.attachments : undefined,
  });
  seenGuids.add(guid);
  logger.info('inbound delivered', { locationId, guid: frame.guid, contactId });
}

function keepAlive(sockets: WebSocketServer): void {
  const alive = new WeakSet<WebSocket>();
  sockets.on('connection', (mac) => {
    alive.add(mac);
    mac.on('pong', () => alive.add(mac));
  });
  const timer = setInterval(() => {
    for (const mac of sockets.clients) {
      if (alive.delete(mac)) mac.ping();
      else mac.terminate();
    }
  }, 30_000);
  timer.unref();
}
