import type { ServerResponse } from 'node:http';

import { every } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import type { FastifyInstance } from 'fastify';

import { EVENT_STREAMS } from '../../platform/budgets.ts';
import { RequestError } from '../../platform/errors.ts';
import type { OperatorAuth } from '../../platform/operator/authenticate-operator.ts';
import type { JournalEvent } from './journal.ts';
import type { MessageEvents } from './message-events.ts';
import { Slots } from '../../platform/http/request-budget.ts';
import { EventStream } from './event-stream.ts';
import { mayAccess } from '../../platform/operator/operator-auth.ts';
import { isoTime, operatorError } from '../../platform/operator/operator-request.ts';

export interface EventsRoutesDeps {
  readonly events: Pick<MessageEvents, 'follow'>;
  readonly auth: Pick<OperatorAuth, 'isValid'>;
  readonly clock: Clock;
}

const EVENTS = { exposeHeadRoute: false, config: { locations: 'filtered' } } as const;
const HEARTBEAT_MS = 15_000;
const RETRY_SEC = 5;
const GAP = 'event: gap\ndata: {}\n\n';
const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
  'X-Content-Type-Options': 'nosniff',
};

/**
 * `GET /operator/events`: the events of all nodes as server-sent events. `Last-Event-ID` resumes; `event: gap` means that events
 * were missed. A client that does not read is disconnected and can resume. The stream ends when its token or session becomes invalid.
 */
export function eventsRoutes({ events, auth, clock }: EventsRoutesDeps) {
  const listeners = new Set<ServerResponse>();
  const slots = new Slots(EVENT_STREAMS);
  /** Each event is rendered once for all clients. */
  const lines = new WeakMap<JournalEvent, string>();
  const lineOf = (event: JournalEvent): string => {
    const known = lines.get(event);
    if (known !== undefined) return known;
    const rendered = line(event);
    lines.set(event, rendered);
    return rendered;
  };

  return (app: FastifyInstance): void => {
    app.get('/operator/events', EVENTS, async (request, reply) => {
      const { operator, signedIn } = request;
      // The client left while it was authenticated. Its `close` event has passed, so nothing would release the slot.
      if (reply.raw.destroyed) {
        reply.hijack();
        return;
      }
      const release = slots.enter({ operator: operator.tokenHash });
      if (typeof release === 'string')
        throw release === 'total'
          ? operatorError('SERVICE_UNAVAILABLE', 'Too many clients are connected. Close one and try again.')
          : new RequestError(
              'TOO_MANY_REQUESTS',
              { message: 'Too many clients are connected with this token. Close one and try again.' },
              { channel: 'operator', retryAfterSec: RETRY_SEC },
            );
      const lastId = request.headers['last-event-id'];
      reply.hijack();
      const { raw } = reply;
      listeners.add(raw);
      const isVisible = ({ message }: JournalEvent) =>
        operator.locations === null || (message !== undefined && mayAccess(request, message.locationId));
      raw.writeHead(200, { ...HEADERS, 'X-Request-Id': request.id });
      raw.write('retry: 2000\n\n');
      const stream = new EventStream(raw, clock);
      const stopBeating = every(clock, HEARTBEAT_MS, () => {
        stream.send(': alive\n\n');
        auth.isValid(operator, signedIn?.session).then(
          (isValid) => isValid || raw.end(),
          // The database is down. The next heartbeat checks again.
          () => {},
        );
      });
      const following = events.follow(
        typeof lastId === 'string' && lastId !== '' ? lastId : undefined,
        (event) => {
          if (event === 'gap') stream.send(GAP);
          else if (isVisible(event)) stream.send(lineOf(event));
        },
      );
      raw.once('close', () => {
        listeners.delete(raw);
        release();
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
