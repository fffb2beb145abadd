import { asLocationId } from '@footbridge/protocol/ids';
import { exceedsJsonLimits } from '@footbridge/protocol/json-size';
import { isObject } from '@footbridge/protocol/schema';
import type { Log } from '@footbridge/runtime/log';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { RequestError } from '../../platform/errors.ts';
import type { AppEvent, HandleAppEvent } from './app-events.ts';
import type { ReplayMemory } from './recognise-replay.ts';
import type { SignatureCheck, SignatureFault } from '../keys/verify-signature.ts';
import { addressKey } from '../../platform/http/client-address.ts';
import { UNSIGNED } from './webhook-route.ts';

export interface AppEventsRoutesDeps {
  readonly signatures: Pick<SignatureCheck, 'verify'>;
  /** By type. Events of other types are ignored. */
  readonly handlers: ReadonlyMap<string, HandleAppEvent>;
  readonly replays: Pick<ReplayMemory, 'has' | 'add'>;
  readonly onReplay: () => void;
  /** Returns whether an event with this app id belongs to another app: the CRM signs the events of all apps with one key. */
  readonly isForeign: (appId: unknown) => boolean;
  readonly now: () => number;
  readonly log: Log;
  readonly onUnsigned: (fault: SignatureFault) => void;
}

const MAX_BODY = 65_536;
/** Far more than any event has. The body is parsed before its signature is checked, and one full of brackets would take milliseconds. */
const JSON_LIMITS = { brackets: 1024, names: 1024, commas: 4096 } as const;
const MAX_TYPE = 100;
const MAX_ID = 256;
/** A timestamp further ahead than clock skew explains is wrong, and would make later events look old. */
const MAX_AHEAD_MS = 300_000;

/** `POST /crm/events`: receives CRM events about the app and its contacts (E1, E4). */
export function appEventsRoutes(deps: AppEventsRoutesDeps) {
  const { signatures, isForeign, now, log, onUnsigned } = deps;

  async function receive(request: FastifyRequest, reply: FastifyReply) {
    const rawBody = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const fields = fieldsOf(rawBody);
    const locationId = asLocationId(fields?.['locationId']);
    const { headers, ip } = request;
    const verdict = await signatures.verify({ headers, rawBody, address: addressKey(ip) }, locationId);
    if (!verdict.ok) onUnsigned(verdict.fault);
    // A key that is limited to locations must not sign events of a company.
    if (!verdict.ok || (verdict.key.locations !== null && locationId === undefined))
      return reply.code(401).type('application/json; charset=utf-8').send(UNSIGNED);
    const event = fields === undefined ? undefined : eventIn(fields, now());
    if (fields === undefined || event === undefined)
      throw new RequestError('INVALID_REQUEST', {
        message: 'The body is not an event: a JSON object with a type, and with ids that are text.',
      });
    if (isForeign(fields['appId']))
      log.warn(
        { event: 'app.foreign_event', type: event.type },
        'event of another app ignored; that app uses the webhook URL of this service',
      );
    else await handleOnce(rawBody, event);
    return { status: 'success' };
  }

  async function handleOnce(rawBody: Buffer, event: Omit<AppEvent, 'isRepeat'>) {
    const { type, at } = event;
    const handle = deps.handlers.get(type);
    if (handle === undefined) return;
    const isRepeat = await deps.replays.has(rawBody);
    if (isRepeat) {
      deps.onReplay();
      log.info({ event: 'app.event_repeated', type }, 'event arrived again');
      if (at !== undefined) return;
    }
    await handle({ ...event, isRepeat });
    await deps.replays.add(rawBody);
  }

  return (app: FastifyInstance): void => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(
      '*',
      { parseAs: 'buffer' },
      async (_request: FastifyRequest, body: Buffer) => body,
    );
    app.post('/crm/events', { bodyLimit: MAX_BODY }, receive);
  };
}

function fieldsOf(rawBody: Buffer): Record<string, unknown> | undefined {
  if (exceedsJsonLimits(rawBody, JSON_LIMITS)) return undefined;
  try {
    const parsed: unknown = JSON.parse(rawBody.toString('utf8'));
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function eventIn(fields: Record<string, unknown>, now: number): Omit<AppEvent, 'isRepeat'> | undefined {
  const { type, timestamp } = fields;
  const locationId = idIn(fields['locationId']);
  const companyId = idIn(fields['companyId']);
  if (typeof type !== 'string' || type === '' || type.length > MAX_TYPE) return undefined;
  if (locationId === undefined || companyId === undefined) return undefined;
  const updatedAt = timeIn(fields['dateUpdated'], now);
  return { type, locationId, companyId, at: timeIn(timestamp, now), updatedAt, fields };
}

function timeIn(value: unknown, now: number): number | undefined {
  const at = typeof value === 'string' ? Date.parse(value) : Number(value);
  return at > 0 && at <= now + MAX_AHEAD_MS ? at : undefined;
}

/** Returns null when there is no id, and undefined when it cannot be one. */
function idIn(value: unknown): string | null | undefined {
  if (value === undefined || value === null || value === '') return null;
  if (typeof value !== 'string' || value.length > MAX_ID || value.trim() === '') return undefined;
  return /\p{Cc}|\p{Cs}/u.test(value) ? undefined : value;
}
