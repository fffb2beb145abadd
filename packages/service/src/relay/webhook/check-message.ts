import type { Clock } from '@footbridge/runtime/clock';
import { MAX_ATTACHMENTS } from '@footbridge/protocol/frames';
import type { SendFrame } from '@footbridge/protocol/frames';
import type { LocationId } from '@footbridge/protocol/ids';
import { carriesFooter, writeFooter } from '@footbridge/protocol/footer';
import type { Log } from '@footbridge/runtime/log';

import type { ValuesOf } from '../../platform/settings/setting.ts';
import type { INBOUND } from '../inbound/settings.ts';
import type { Slot } from '../../platform/extension-points.ts';
import type { CrmRoom } from '../crm/room.ts';
import type { Phones } from '../people/handles.ts';
import { EngineError } from '../../platform/errors.ts';
import type { WEBHOOK } from './settings.ts';
import type { Received } from './record-request.ts';
import { Rejection } from './webhook-outcome.ts';
import type { Fields } from './webhook-request.ts';
import { receivedNames } from './webhook-request.ts';

export interface CheckDeps extends LookUpDeps {
  readonly phones: Pick<Phones, 'normal'>;
  readonly optOuts: Slot<IsSuppressed>;
  readonly settings: Pick<
    ValuesOf<typeof WEBHOOK & typeof INBOUND>,
    'acceptedTypes' | 'messageMaxLength' | 'sendAltId'
  >;
}

/** Runs every check of a signed message in order. Returns the frame for the Mac, or the first rejection. */
export async function checkMessage(
  { request, fields, traceparent }: Pick<Received, 'request' | 'fields' | 'traceparent'>,
  checkAge: CheckAge,
  deps: CheckDeps,
): Promise<{ locationId: LocationId; frame: SendFrame } | Rejection> {
  const unreadable =
    checkContentType(request.contentType) ??
    checkShape(request.body) ??
    checkType(fields, deps.settings.acceptedTypes);
  if (unreadable !== undefined) return unreadable;

  const complete = await requireFields(request.body, fields, deps);
  if (complete instanceof Rejection) return complete;
  const { locationId, contactId, message } = complete;

  const attachments = checkAttachments(complete.attachments);
  if (attachments instanceof Rejection) return attachments;

  const tooLong = checkLength(message, deps.settings.messageMaxLength);
  if (tooLong !== undefined) return tooLong;

  const phone = deps.phones.normal(complete.phone);
  if (phone === undefined) return new Rejection('RECIPIENT_PHONE_INVALID');

  const tooOld = checkAge(fields.writtenAt);
  if (tooOld !== undefined) return tooOld;

  const optedOut = await checkOptOut(deps.optOuts.value, locationId, phone);
  if (optedOut !== undefined) return optedOut;

  const { requestId, channel } = request;
  const messageId = fields.messageId ?? null;
  return {
    locationId,
    frame: {
      type: 'send',
      requestId,
      messageId,
      contactId,
      phone,
      message: deps.settings.sendAltId ? asReply(message, fields.replyToAltId) : message,
      attachments,
      channel,
      ...(traceparent !== undefined && { traceparent }),
    },
  };
}

/** Returns a rejection for a message that is older than the limit. `writtenAt` is undefined when the webhook has no time. */
export type CheckAge = (writtenAt: number | undefined) => Rejection | undefined;

/**
 * The CRM retries a failed webhook for days. The age is measured against the newest time of any webhook, advanced by the monotonic
 * clock, and against the wall clock; the smaller age counts. Neither a wrong clock on this machine nor one webhook from the future
 * makes messages look old; after a start, old messages pass until a newer one has arrived.
 */
export function ageCheck(maxAgeMs: number, clock: Clock): CheckAge {
  /** The newest time of a webhook, minus the monotonic clock at its arrival. */
  let newest = -Infinity;
  return (writtenAt) => {
    if (maxAgeMs === 0 || writtenAt === undefined) return undefined;
    newest = Math.max(newest, writtenAt - clock.monotonic());
    const ageMs = Math.min(clock.now(), newest + clock.monotonic()) - writtenAt;
    if (ageMs <= maxAgeMs) return undefined;
    return new Rejection('MESSAGE_TOO_OLD', { ageSec: Math.floor(ageMs / 1000), limitSec: maxAgeMs / 1000 });
  };
}

const MAX_URL = 2048;
// No URL contains control characters or lone surrogates; escaped in JSON they would make the frame six times larger.
const WEB_URL = /^https?:\/\/[^\p{Cc}\p{Cs}]+$/iu;

/** W5. `received` is the index of the first invalid entry; the 21st entry is always invalid. A value that is not a list has none: 0. */
export function checkAttachments(attachments: unknown): string[] | Rejection {
  if (!Array.isArray(attachments)) return new Rejection('INVALID_ATTACHMENTS', { received: 0 });
  const urls = attachments.slice(0, MAX_ATTACHMENTS).filter(isWebUrl);
  if (urls.length === attachments.length) return urls;
  const fault = attachments.findIndex((entry, at) => at >= MAX_ATTACHMENTS || !isWebUrl(entry));
  return new Rejection('INVALID_ATTACHMENTS', { received: fault });
}

function isWebUrl(entry: unknown): entry is string {
  return typeof entry === 'string' && entry.length <= MAX_URL && WEB_URL.test(entry) && URL.canParse(entry);
}

/** W11. Types such as `application/jsonl` pass here and are rejected by `checkShape` (W12). */
function checkContentType(contentType: string): Rejection | undefined {
  return contentType.includes('application/json') ? undefined : new Rejection('INVALID_CONTENT_TYPE');
}

/** W6. Counts UTF-16 code units, like most CRMs, including the footer. */
function checkLength(message: string | null, limit: number): Rejection | undefined {
  if (message === null || message.length <= limit) return undefined;
  return new Rejection(
    'MESSAGE_BODY_TOO_LONG',
    { received: message.length, limit },
    `Message body exceeds maximum length of ${limit} characters`,
  );
}

/** Whether this person does not want texts of the location. */
export type IsSuppressed = (locationId: LocationId, phone: string) => Promise<boolean>;

/** Opt-outs are not enforced. */
export const NOBODY: IsSuppressed = async () => false;

/** E4. Without enforcement the CRM decides whom it texts. */
async function checkOptOut(
  isSuppressed: IsSuppressed,
  locationId: LocationId,
  phone: string,
): Promise<Rejection | undefined> {
  return (await isSuppressed(locationId, phone)) ? new Rejection('OPTED_OUT') : undefined;
}

/** W12, W13. Rejects a request without a parsed body. An array passes: it lacks the required fields. */
function checkShape(body: unknown): Rejection | undefined {
  return body === undefined ? new Rejection('INVALID_REQUEST_BODY') : undefined;
}

const MAX_SHOWN = 64;

/** W9. Runs before the required fields, so that an `Email` delivery is not reported as incomplete. */
export function checkType(
  { type }: Pick<Fields, 'type'>,
  accepted: readonly unknown[],
): Rejection | undefined {
  if (type === undefined || accepted.includes(type.value)) return undefined;
  return new Rejection('UNSUPPORTED_MESSAGE_TYPE', {}, `Unsupported message type: ${shown(type.value)}`);
}

/** Objects are not serialised: they may be nested too deeply. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'object' && value !== null) return 'object';
  const text = String(value);
  return (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text).toWellFormed();
}

/** A message with all required fields, not validated yet. */
interface Complete {
  readonly locationId: LocationId;
  readonly contactId: string;
  readonly phone: string;
  readonly message: string | null;
  readonly attachments: unknown;
}

/** W4, W7. Looks the phone up in the CRM only when it is the only missing field. */
async function requireFields(body: unknown, fields: Fields, deps: LookUpDeps): Promise<Complete | Rejection> {
  const { locationId, contactId, message, attachments } = fields;
  if (locationId === undefined || contactId === undefined || (message ?? attachments) === undefined)
    return missingFields(body, fields);
  const phone = fields.phone ?? (await lookUpPhone(locationId, contactId, deps));
  if (phone instanceof Rejection) return phone;
  if (phone === undefined) return missingFields(body, fields);
  return { locationId, contactId, phone, message: message ?? null, attachments: attachments ?? [] };
}

/** Lists names only: no value of the request is echoed (W15). */
function missingFields(body: unknown, fields: Fields): Rejection {
  const required = [
    fields.locationId === undefined && 'locationId',
    fields.contactId === undefined && 'contactId',
    fields.message === undefined && fields.attachments === undefined && 'message or attachments',
    fields.phone === undefined && 'phone',
  ].filter((name) => name !== false);
  return new Rejection('MISSING_REQUIRED_FIELDS', { required, received: receivedNames(body) });
}

/** Makes the message a reply to the message with this GUID. A footer written by the CRM takes precedence. */
export function asReply(message: string | null, guid: string | undefined): string | null {
  if (guid === undefined || message === null || carriesFooter(message)) return message;
  return writeFooter(message, { reply_to: { message_guid: guid } });
}

export interface LookUpDeps {
  readonly crm: Pick<CrmRoom, 'lookUpPhone'>;
  readonly clock: Clock;
  readonly log: Log;
}

const NOT_LOOKED_UP = new Rejection('SERVICE_UNAVAILABLE', {
  message: 'The service could not look up the phone of this contact now. Send the same request again.',
});
/** How long a webhook waits for the CRM. */
const TIMEOUT_MS = 5000;

/**
 * Resolves with undefined when the CRM fails or is too slow: the request then has no phone (W7). Resolves with a rejection when the call
 * could not be made: nothing is known about the phone then, and the CRM can send the same request again.
 */
export async function lookUpPhone(
  locationId: LocationId,
  contactId: string,
  { crm, clock, log }: LookUpDeps,
): Promise<string | Rejection | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.after(TIMEOUT_MS, () => {
    log.warn(
      { event: 'webhook.phone_lookup_timed_out', locationId, ms: TIMEOUT_MS },
      'phone lookup timed out',
    );
    resolve(undefined);
  });
  const phone = crm.lookUpPhone(locationId, contactId).catch((error: unknown) => {
    log.warn({ event: 'webhook.phone_lookup_failed', locationId, err: error }, 'phone lookup failed');
    return error instanceof EngineError ? NOT_LOOKED_UP : undefined;
  });
  const found = await Promise.race([phone, late]);
  cancel();
  return typeof found === 'string' && !/\S/.test(found) ? undefined : found;
}
