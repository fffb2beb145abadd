import { parseFooter } from '@footbridge/protocol/footer';
import type { LocationId, RequestId } from '@footbridge/protocol/ids';
import { messageKind } from '@footbridge/protocol/message-kind';
import type { Log } from '@footbridge/runtime/log';
import { statusEntry } from '@footbridge/protocol/codes';
import type { StatusCode } from '@footbridge/protocol/codes';

import type { TrustedKey } from '../keys/keys.ts';
import type { NewEntry, StepDetail } from '../journal/journal.ts';
import type { Journal } from '../journal/journal-sql.ts';
import type { MessageName } from '../../platform/suspects/suspects.ts';
import type { Phones } from '../people/handles.ts';
import type { StatusReports } from '../status/report-statuses.ts';
import type { Fields, WebhookRequest } from './webhook-request.ts';
import type { Rejection, Unsent } from './webhook-outcome.ts';

/** The phone number of a rejected message was not checked: it may be any text. */
const PHONE = /^\+?[\d ().-]{5,25}$/;

export interface Received {
  readonly request: WebhookRequest;
  readonly fields: Fields;
  readonly key: TrustedKey;
  readonly name: MessageName;
  /** The caller's span; undefined when messages are not traced. */
  readonly traceparent: string | undefined;
}

export function recordAccepted(
  journal: Pick<Journal, 'open'>,
  received: Received,
  locationId: LocationId,
  phone: string,
): void {
  journal.open(entryOf(received, locationId, phone), 'accepted', {
    state: 'accepted',
    detail: detailOf(received),
  });
}

/** Records a request for a message that was delivered before, and is not sent again. */
export function recordDelivered(
  journal: Pick<Journal, 'open'>,
  received: Received,
  locationId: LocationId,
  phone: string,
): void {
  journal.open(entryOf(received, locationId, phone), 'accepted', {
    state: 'delivered',
    detail: { ...detailOf(received), deliveredBefore: true },
  });
}

/** Records a message that failed a check. A message without a location belongs to no tenant and is not recorded. */
export function recordRejected(
  journal: Pick<Journal, 'open'>,
  received: Received,
  rejection: Rejection,
  phones: Pick<Phones, 'recorded'>,
): void {
  const { locationId, phone } = received.fields;
  if (locationId === undefined) return;
  const handle = phone !== undefined && PHONE.test(phone) ? phones.recorded(phone) : null;
  journal.open(entryOf(received, locationId, handle), 'rejected', {
    state: 'rejected',
    code: rejection.code,
    detail: {
      ...detailOf(received),
      ...(rejection.code === 'SET_ASIDE' && { suspect: received.name.id }),
    },
  });
}

/** Records that an accepted message did not reach a Mac, or that this is not certain. */
export function recordUnsent(
  journal: Pick<Journal, 'step'>,
  { request }: Received,
  { rejection, isCertain }: Unsent,
): void {
  const { code } = rejection;
  const step = code === 'LOCATION_NOT_CONNECTED' ? 'not_connected' : 'rejected';
  journal.step(request.requestId, step, {
    state: 'rejected',
    code,
    ...(!isCertain && { detail: { isCertain } }),
  });
}

function entryOf({ request, fields }: Received, locationId: LocationId, handle: string | null): NewEntry {
  return {
    id: request.requestId,
    direction: 'outbound',
    locationId,
    messageId: fields.messageId ?? null,
    kind: kindOf(fields),
    handle,
    contactId: fields.contactId ?? null,
    length: fields.message?.length ?? 0,
  };
}

/** What the operator sees about the step. */
function detailOf({ request, fields, key, traceparent }: Received): StepDetail {
  return {
    key: key.label,
    bytes: request.rawBody.length,
    channel: request.channel,
    ...userOf(fields),
    ...(traceparent !== undefined && { traceparent }),
  };
}

function kindOf({ message, attachments }: Fields): string {
  const metadata = message !== undefined && mayCarryFooter(message) ? parseFooter(message).metadata : null;
  return messageKind(metadata ?? {}, attachments !== undefined);
}

/** A longer message is rejected anyway, so its footer is not parsed. */
const MAX_READ = 50_000;

const mayCarryFooter = (message: string): boolean =>
  message.length <= MAX_READ && (message.includes('svc-metadata') || message.includes('[[SVMD:'));

/** The log line of a signed request: `code` tells why it was not sent. A request that failed a check may lack any of the ids. */
export function logRequest(log: Log, { request, fields }: Received, rejection?: Rejection): void {
  log.info(
    {
      event: 'webhook.handled',
      requestId: request.requestId,
      locationId: fields.locationId,
      messageId: fields.messageId,
      ...userOf(fields),
      code: rejection?.code,
    },
    'webhook handled',
  );
}

const MAX_USER_ID = 64;
const PLAIN = /^[\x20-\x7e]{0,64}$/;

/** The CRM's user for log and journal: recorded, never interpreted (W10). */
export function userOf({ userId }: Pick<Fields, 'userId'>): { readonly userId?: string } {
  return userId === undefined ? {} : { userId: printable(userId) };
}

function printable(text: string): string {
  if (PLAIN.test(text)) return text;
  return text
    .slice(0, MAX_USER_ID * 2)
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, MAX_USER_ID)
    .toWellFormed();
}

export type RejectionReports = Pick<StatusReports, 'rejected'>;

/** Rejections that a status names in another way: the 404 on purpose (A7), and so the 503 (A10). */
const RENAMED: Partial<Record<Rejection['code'], StatusCode>> = {
  LOCATION_NOT_CONNECTED: 'CLIENT_NOT_CONNECTED',
  SERVICE_UNAVAILABLE: 'INTERNAL_ERROR',
};

const ENDED_TWICE =
  'The service or the agent on the Mac ended twice while it worked on this message. It was set aside; the operator can allow another attempt.';
const NOT_SENT = 'The service could not forward the message to the Mac. Nothing was sent.';

export function reportRejection(
  reports: RejectionReports,
  requestId: RequestId,
  { locationId, messageId }: Pick<Fields, 'locationId' | 'messageId'>,
  rejection: Rejection,
): void {
  // A rejection that the catalogue has no status for is not reported.
  const code = RENAMED[rejection.code] ?? statusEntry(rejection.code)?.code;
  if (code === undefined || locationId === undefined || messageId === undefined) return;
  reports.rejected({ requestId, locationId, messageId, code, message: explain(rejection) });
}

/** Reports a request that ended in a 5xx. Call it only when nothing was written to the Mac (A10). */
export function reportFailure(
  reports: RejectionReports,
  requestId: RequestId,
  { locationId, messageId }: Pick<Fields, 'locationId' | 'messageId'>,
): void {
  if (locationId === undefined || messageId === undefined) return;
  reports.rejected({ requestId, locationId, messageId, code: 'INTERNAL_ERROR', message: NOT_SENT });
}

function explain({ code, label, details }: Rejection): string {
  if (code === 'SERVICE_UNAVAILABLE') return NOT_SENT;
  if (code === 'LOCATION_NOT_CONNECTED') return 'No Mac is connected for this location.';
  if (code === 'SET_ASIDE') return ENDED_TWICE;
  const { required } = details;
  return Array.isArray(required) ? `${label}: ${required.join(', ')}` : label;
}
