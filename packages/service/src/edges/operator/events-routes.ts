import type { ServerResponse } from 'node:http';

import { every } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import type { FastifyInstance } from 'fastify';

import type { JournalEvent } from '../../ports/journal/journal.ts';
import type { MessageEvents } from '../../ports/journal/message-events.ts';
import { mayAccess } from './operator-auth.ts';
import { isoTime, operatorError } from './operator-request.ts';

export interface EventsRoutesDeps {
  readonly events: Pick<MessageEvents, 'follow'>;
  readonly clock: Clock;
}

const EVENTS = { exposeHeadRoute: false, config: { locations: 'filtered' } } as const;
const HEARTBEAT_MS = 15_000;
const MOST_LISTENERS = 100;
const MOST_UNREAD_BYTES = 1_000_000;
const GAP = 'event: gap\ndata: {}\n\n';
const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
  'X-Content-Type-Options': 'nosniff',
};

/**
 * `GET /operator/events`: the events of all nodes as server-sent events. `Last-Event-ID` resumes; `event: gap` means that events
 * were missed. A client that does not read is disconnected and can resume.
 */
export function eventsRoutes({ events, clock }: EventsRoutesDeps) {
  const listeners = new Set<ServerResponse>();

  return (app: FastifyInstance): void => {
    app.get('/operator/events', EVENTS, async (request, reply) => {
      if (listeners.size >= MOST_LISTENERS)
        throw operatorError(
          'SERVICE_UNAVAILABLE',
          'Too many clients are connected. Close one and try again.',
        );
      const lastId = request.headers['last-event-id'];
      reply.hijack();
      const { raw } = reply;
      listeners.add(raw);
      const write = (text: string) => {
        raw.write(text);
        if (raw.writableLength > MOST_UNREAD_BYTES) raw.destroy();
      };
      const isVisible = ({ message }: JournalEvent) =>
        request.operator.locations === null ||
        (message !== undefined && mayAccess(request, message.locationId));
      raw.writeHead(200, { ...HEADERS, 'X-Request-Id': request.id });
      write('retry: 2000\n\n');
      const stopBeating = every(clock, HEARTBEAT_MS, () => write(': alive\n\n'));
      const following = events.follow(
        typeof lastId === 'string' && lastId !== '' ? lastId : undefined,
        (event) => {
          if (event === 'gap') write(GAP);
          else if (isVisible(event)) write(line(event));
        },
      );
      raw.once('close', () => {
        listeners.delete(raw);
        stopBeating();
        void following.then((stop) => stop());
      });
    });

    app.addHook('preClose', async () => {
      for (const listener of listeners) listener.end();
    });
  };
}

function line({ id, at, messageId, step, recorded, message }: JournalEvent): string {
  const data = {
    at: isoTime(at),
    id: messageId,
    step,
    status: recorded.state ?? null,
    code: recorded.code ?? null,
    detail: recorded.detail ?? null,
    direction: message?.direction ?? null,
    locationId: message?.locationId ?? null,
    messageId: message?.messageId ?? null,
    kind: message?.kind ?? null,
    phone: message?.phoneMasked ?? null,
    length: message?.length ?? null,
  };
  return `id: ${id}\nevent: message\ndata: ${JSON.stringify(data)}\n\n`;
}
