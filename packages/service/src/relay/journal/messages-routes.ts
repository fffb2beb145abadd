import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { listMessages, redeliverMessage, showMessage } from '@footbridge/protocol/operator/messages';
import type { FastifyInstance, FastifyRequest } from 'fastify';

import type { Phones } from '../people/handles.ts';
import type { Slot } from '../../platform/extension-points.ts';
import type { TakenTexts } from './texts.ts';
import type { Audit } from '../../platform/operator/audit-sql.ts';
import type { MessageSummary, MessageTrail } from './journal.ts';
import type { Journal } from './journal-sql.ts';
import type { MessageName } from '../../platform/suspects/suspects.ts';
import type { Suspects } from '../../platform/suspects/suspects-sql.ts';
import { visibleLocations } from '../../platform/operator/operator-auth.ts';
import { isoTime, operatorError } from '../../platform/operator/operator-request.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

export interface MessagesRoutesDeps {
  readonly journal: Pick<Journal, 'list' | 'show' | 'requestsOf'>;
  /** Asks the Mac of a location to resend a rejected frame, or to allow another attempt for a message that it set aside. */
  readonly redeliver: (
    locationId: LocationId,
    what: { readonly seq: number; readonly messageId?: string },
  ) => Promise<'written' | 'not_connected'>;
  readonly suspects: Pick<Suspects, 'release' | 'setAside'>;
  /** The texts of captured locations. */
  readonly texts: Slot<TakenTexts>;
  readonly audit: Pick<Audit, 'record'>;
  /** Returns the forms in which the journal may have a phone number that a person typed. */
  readonly phones: Pick<Phones, 'forms'>;
}

const LONGEST_ID = 256;
/** The Mac numbers its frames from 1. */
const NOT_ON_MAC = 0;

/** `GET /operator/messages`, `GET /operator/messages/:requestId`, `POST …/redeliver`: the journal, and redelivery. */
export function messagesRoutes(deps: MessagesRoutesDeps) {
  const { journal, suspects, redeliver, texts, audit, phones } = deps;
  const shown = (trail: MessageTrail) => ({
    ...messageHistory(trail),
    text: texts.value.textOf(trail.locationId, trail.id) ?? null,
  });

  async function trailOf(request: FastifyRequest, id: string): Promise<MessageTrail> {
    // Two Macs in one group receive a message with the same GUID, and the caller may not have access to the newest one.
    const locationIds = visibleLocations(request, undefined);
    const trail = id.length <= LONGEST_ID ? await journal.show(id, locationIds) : undefined;
    if (trail === undefined)
      throw operatorError(
        'NOT_FOUND',
        'No message has this id. Request ids, inbound GUIDs and CRM message ids can be looked up for 30 days.',
      );
    return trail;
  }

  /** Returns undefined for a message that the Mac knows nothing against. */
  async function askedOfMac({ direction, locationId, messageId }: MessageTrail) {
    if (messageId === null) return undefined;
    const requests = await journal.requestsOf({ direction, locationId, messageId });
    const isOnMac = requests.some(({ state, code }) => state === 'failed' && code === 'SET_ASIDE');
    return isOnMac ? { seq: NOT_ON_MAC, messageId } : undefined;
  }

  return (app: FastifyInstance): void => {
    serveCall(app, listMessages, async ({ query, request }) => {
      const { locationId, status, phone, from, until, limit = 50, ...rest } = query;
      const locationIds = visibleLocations(request, locationId);
      const handles = phone === undefined ? undefined : phones.forms(phone);
      const page = await journal.list({
        ...rest,
        limit,
        from: from === undefined ? undefined : Date.parse(from),
        until: until === undefined ? undefined : Date.parse(until),
        locationIds,
        state: status,
        handles,
      });
      return { messages: page.messages.map(summary), cursor: page.cursor };
    });

    serveCall(app, showMessage, async ({ params: { id }, query: { all }, request }) => {
      const trail = await trailOf(request, id);
      const { direction, locationId, messageId } = trail;
      const isOne = messageId === null || (id === trail.id && all === undefined);
      const requests = isOne ? [trail] : await journal.requestsOf({ direction, locationId, messageId });
      const until = texts.value.until(locationId);
      return {
        ...shown(trail),
        capturedUntil: until === undefined ? null : isoTime(until),
        requests: requests.map(shown),
      };
    });

    serveCall(app, redeliverMessage, async ({ params: { id }, request }) => {
      const trail = await trailOf(request, id);
      const locationId = asLocationId(trail.locationId);
      const seq = keptSeq(trail) ?? NOT_ON_MAC;
      const suspect = suspectOf(trail);
      const isReleased = trail.code === 'SET_ASIDE' && (await suspects.release(suspect));
      // The text of an outbound message is not stored: the CRM sends it again, and it is handled then.
      const isOutbound = isReleased && trail.direction === 'outbound';
      if ((seq === NOT_ON_MAC && !isOutbound) || locationId === undefined)
        throw operatorError(
          'CONFLICT',
          'Only an undelivered inbound message, or one that was set aside, can be redelivered.',
        );
      const asked = isOutbound ? await askedOfMac(trail) : { seq };
      if (asked !== undefined && (await redeliver(locationId, asked)) === 'not_connected') {
        if (isReleased) await suspects.setAside(suspect);
        throw operatorError('CONFLICT', 'The Mac of this location is not connected. Try again when it is.');
      }
      await audit.record({
        actor: 'operator',
        name: request.operator.label,
        action: 'message.redelivered',
        target: trail.id,
        detail: { seq },
      });
      return { id: trail.id, locationId, seq };
    });
  };
}

/** Returns the `seq` under which the Mac keeps the frame, from its last rejection. */
function keptSeq({ direction, state, steps }: MessageTrail): number | undefined {
  if (direction !== 'inbound' || state !== 'undeliverable') return undefined;
  const seq = steps.findLast(({ step }) => step === 'parked')?.detail?.['seq'];
  return typeof seq === 'number' ? seq : undefined;
}

/** Under which name a message was set aside. A request without a messageId is named by its bytes. */
function suspectOf({ direction, locationId, messageId, id, steps }: MessageTrail): MessageName {
  const recorded = steps.findLast(({ detail }) => detail?.['suspect'] !== undefined)?.detail?.['suspect'];
  return {
    kind: direction,
    locationId,
    id: typeof recorded === 'string' ? recorded : (messageId ?? id),
  };
}

export const messageHistory = (trail: MessageTrail) => ({
  ...summary(trail),
  steps: trail.steps.map(({ at, step, detail }) => ({ at: isoTime(at), step, detail })),
});

const summary = (message: MessageSummary) => ({
  id: message.id,
  direction: message.direction,
  locationId: message.locationId,
  messageId: message.messageId,
  messageGuid: message.messageGuid,
  kind: message.kind,
  phone: message.phoneMasked,
  length: message.length,
  status: message.state,
  code: message.code,
  createdAt: isoTime(message.createdAt),
  updatedAt: isoTime(message.updatedAt),
});
