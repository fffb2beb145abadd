/**
 * Where a code is met: in an answer of the webhook, in `error.code` of a status call, in the journal beside an inbound message that
 * the CRM does not have, or in another surface's answer.
 */
export type Channel = 'webhook' | 'status' | 'inbound' | 'oauth' | 'enrolment' | 'operator';

/**
 * `yes`: soon, with backoff. `later`: once the cause named in the advice is gone. `sometimes`: the message tells.
 * `no`: the same request fails again.
 */
export type Retry = 'yes' | 'no' | 'sometimes' | 'later';

/** One code in one place. A code that is met in several places has an entry for each, with one meaning. */
export interface CodeEntry {
  readonly code: string;
  readonly channel: Channel;
  /** The HTTP status it comes with; none for status calls and inbound messages. */
  readonly http?: number;
  /** The stable `error` text beside the code, where the contract fixes one. */
  readonly label?: string;
  readonly meaning: string;
  readonly retry: Retry;
  readonly advice: string;
}

const WEBHOOK = [
  {
    code: 'INVALID_CONTENT_TYPE',
    http: 400,
    label: 'Invalid content type',
    meaning: 'The Content-Type does not name application/json.',
    retry: 'no',
    advice: 'Send Content-Type: application/json.',
  },
  {
    code: 'INVALID_REQUEST_BODY',
    http: 400,
    label: 'Invalid request body',
    meaning: 'The body is empty, or its media type is a relative of JSON that is not read here.',
    retry: 'no',
    advice: 'Send one JSON object as application/json.',
  },
  {
    code: 'MISSING_REQUIRED_FIELDS',
    http: 400,
    label: 'Missing required fields',
    meaning:
      'A required field is absent, blank, of the wrong type, or stands under a name that is no longer read.',
    retry: 'no',
    advice: 'Add the fields listed in required, at the top level and under exactly these names.',
  },
  {
    code: 'INVALID_ATTACHMENTS',
    http: 400,
    label: 'Invalid attachments',
    meaning: 'An entry of attachments is not an absolute http or https URL, or there are too many of them.',
    retry: 'no',
    advice: 'Upload the file first and pass its URL; received is the index of the entry at fault.',
  },
  {
    code: 'MESSAGE_BODY_TOO_LONG',
    http: 400,
    label: 'Message body exceeds maximum length of <limit> characters',
    meaning: 'The message has more UTF-16 units than the limit; the footer counts.',
    retry: 'no',
    advice: 'Shorten the message to limit, or split it.',
  },
  {
    code: 'RECIPIENT_PHONE_INVALID',
    http: 400,
    label: 'Invalid phone number format',
    meaning: 'The phone is neither a possible number nor a short code.',
    retry: 'no',
    advice: 'Send the number in E.164, for example +14155550100.',
  },
  {
    code: 'UNSUPPORTED_MESSAGE_TYPE',
    http: 400,
    label: 'Unsupported message type: <value>',
    meaning: 'The type is given and is not SMS.',
    retry: 'no',
    advice: 'Leave type out or send SMS; route e-mail and other kinds elsewhere.',
  },
  {
    code: 'LOCATION_NOT_CONNECTED',
    http: 404,
    label: 'Location not connected',
    meaning: 'No Mac is connected for this location, and nothing is queued.',
    retry: 'later',
    advice: 'Send it again when the Mac of this location is back; look at it in the console.',
  },
  {
    code: 'TOO_MANY_REQUESTS',
    http: 429,
    label: 'TOO_MANY_REQUESTS',
    meaning: 'The location used up its webhook requests of this minute.',
    retry: 'yes',
    advice: 'Wait as long as Retry-After says, then send the same bytes again.',
  },
  {
    code: 'GONE',
    http: 410,
    label: 'Gone',
    meaning: 'This path was retired.',
    retry: 'no',
    advice: 'Post to /crm/webhook; the answer names the replacement.',
  },
  {
    code: 'NOT_FOUND',
    http: 404,
    label: 'Not found',
    meaning: 'Nothing lives at this path.',
    retry: 'no',
    advice: 'Check the path; the webhook is POST /crm/webhook.',
  },
  {
    code: 'METHOD_NOT_ALLOWED',
    http: 405,
    label: 'Method not allowed',
    meaning: 'The path exists, but not for this method.',
    retry: 'no',
    advice: 'Use a method listed in the Allow header.',
  },
  {
    code: 'SERVICE_UNAVAILABLE',
    http: 503,
    label: 'Service unavailable',
    meaning: 'The service is overloaded, stopping, or a part that it needs is down.',
    retry: 'yes',
    advice: 'Wait as long as Retry-After says, then send the same bytes again.',
  },
  {
    code: 'INTERNAL_ERROR',
    http: 500,
    label: 'Internal error',
    meaning: 'Something unexpected failed.',
    retry: 'yes',
    advice: 'Try again with backoff; if it stays, give the requestId to the operator.',
  },
] as const satisfies readonly Omit<CodeEntry, 'channel'>[];

const STATUS = [
  {
    code: 'MISSING_REQUIRED_FIELDS',
    meaning: 'The webhook was refused: a required field is absent, blank or of the wrong type.',
    retry: 'no',
    advice: 'Add the missing fields; the answer of the webhook listed them in required.',
  },
  {
    code: 'MESSAGE_BODY_TOO_LONG',
    meaning: 'The webhook was refused: the message has more UTF-16 units than the limit, footer included.',
    retry: 'no',
    advice: 'Shorten the message, or split it.',
  },
  {
    code: 'RECIPIENT_PHONE_INVALID',
    meaning: 'The webhook was refused: the phone is neither a possible number nor a short code.',
    retry: 'no',
    advice: 'Correct the phone of the contact; E.164 is safest.',
  },
  {
    code: 'CLIENT_NOT_CONNECTED',
    meaning: 'No Mac was connected for the location, so nothing was sent or kept.',
    retry: 'later',
    advice: 'Send it again when the Mac of this location is back.',
  },
  {
    code: 'IMESSAGE_GROUP_INVALID_RECIPIENTS',
    meaning: 'The recipients do not make up a group that iMessage can address.',
    retry: 'no',
    advice: 'Check that everybody in the group has iMessage, or write to them one by one.',
  },
  {
    code: 'IMESSAGE_ERROR',
    meaning: 'Messages could not send it; the message of the error has the detail.',
    retry: 'sometimes',
    advice: 'Read the detail: a wrong address stays wrong, a network failure passes.',
  },
  {
    code: 'INVALID_FRAME',
    meaning:
      'The request was refused before Messages was touched: a footer that cannot be read, or a field it needs.',
    retry: 'no',
    advice: 'Correct the footer or the fields, and send it under a new messageId.',
  },
  {
    code: 'UI_AUTOMATION_DISABLED',
    meaning: 'This Mac is set not to do such things.',
    retry: 'no',
    advice: 'Ask the owner of the Mac to switch the feature on.',
  },
  {
    code: 'AX_DENIED',
    meaning: 'macOS has not granted the Mac client a permission it needs.',
    retry: 'no',
    advice: 'Grant it in System Settings, Privacy & Security; the Mac client names which one.',
  },
  {
    code: 'RATE_LIMITED',
    meaning: 'The queue of the Mac is full, and this message was not added to it.',
    retry: 'yes',
    advice: 'Wait about 30 seconds, send more slowly, and give up after a few tries.',
  },
  {
    code: 'INTERNAL_ERROR',
    meaning: 'Something unexpected failed, on the Mac or in the service.',
    retry: 'yes',
    advice: 'Try again with backoff; if it stays, give the messageId to the operator.',
  },
  {
    code: 'TIMEOUT',
    meaning: 'A step on the Mac took longer than it may.',
    retry: 'yes',
    advice: 'Try again; if it happens often, look whether the Mac is busy or asleep.',
  },
  {
    code: 'TARGET_NOT_FOUND',
    meaning: 'The message to react to cannot be found or shown on the Mac.',
    retry: 'sometimes',
    advice: 'Check target_message_guid and chat_id; a message that has just arrived may need a moment.',
  },
  {
    code: 'INVALID_KIND_FIELD_COMBO',
    meaning: 'The reaction or sticker lacks what its kind asks for, or asks to remove a sticker.',
    retry: 'no',
    advice:
      'classic needs type, emoji needs emoji, sticker needs bytes or an https url and can only be added.',
  },
  {
    code: 'PICKER_FAILED',
    meaning: 'The reaction picker of Messages did not open or did not respond.',
    retry: 'yes',
    advice: 'Try again after a moment.',
  },
  {
    code: 'EMOJI_NOT_IN_RECENTS',
    meaning: 'The emoji could not be applied, or was not seen in the chat within about two seconds.',
    retry: 'no',
    advice: 'Fall back to a classic Tapback or to a text.',
  },
  {
    code: 'STICKER_NOT_FEASIBLE',
    meaning: 'The sticker could not be applied to the message, or was not seen there in time.',
    retry: 'yes',
    advice: 'Try once more, then fall back to a classic Tapback.',
  },
  {
    code: 'STICKER_DOWNLOAD_FAILED',
    meaning: 'The Mac could not fetch the image of the sticker.',
    retry: 'yes',
    advice: 'Check that the url answers with the image, or send bytes.',
  },
  {
    code: 'STICKER_ENCODE_FAILED',
    meaning: 'What was given as the image of the sticker is not an image that the Mac can read.',
    retry: 'no',
    advice: 'Send a PNG or JPEG.',
  },
  {
    code: 'COMPOSE_FAILED',
    meaning: 'The Mac could not compose the sticker message; macOS 14 cannot do it at all.',
    retry: 'sometimes',
    advice:
      'Update the Mac to macOS 15 or later; otherwise try once more or send the image as an attachment.',
  },
  {
    code: 'NOT_IMPLEMENTED',
    meaning: 'The kind of the reaction is not known to this Mac.',
    retry: 'no',
    advice: 'Use classic, emoji or sticker, or update the Mac client.',
  },
] as const satisfies readonly Omit<CodeEntry, 'channel'>[];

const INBOUND = [
  {
    code: 'NO_CONTACT',
    meaning: 'The sender is no contact of the CRM, and none could be created; the Mac keeps the message.',
    retry: 'later',
    advice: 'Add the sender as a contact, or set CRM_CREATE_CONTACTS=true; then footbridge redeliver ID.',
  },
  {
    code: 'CRM_REFUSED',
    meaning: 'The CRM refused the message for good, in the words of its reason; the Mac keeps the message.',
    retry: 'sometimes',
    advice: 'Mend what the reason names, in the CRM or in the settings; then footbridge redeliver ID.',
  },
  {
    code: 'UNCERTAIN',
    meaning:
      'A crash cut the delivery off, so the CRM may have the message already; INBOUND_ON_UNCERTAIN=park keeps it back.',
    retry: 'later',
    advice: 'Look whether the CRM shows the message; if it does not: footbridge redeliver ID.',
  },
] as const satisfies readonly Omit<CodeEntry, 'channel'>[];

const OAUTH = [
  {
    code: 'OAUTH_DISABLED',
    http: 503,
    meaning: 'OAuth is switched off; private integration tokens are used.',
    retry: 'no',
    advice: 'Set CRM_OAUTH_ENABLED=true to install through the marketplace.',
  },
  {
    code: 'OAUTH_NOT_CONFIGURED',
    http: 500,
    meaning: 'OAuth is switched on, but settings are missing.',
    retry: 'later',
    advice: 'The operator sets what missing lists and starts the service again.',
  },
  {
    code: 'INVALID_REQUEST',
    http: 400,
    meaning: 'The request lacks what this path needs, or holds it in a form that cannot be used.',
    retry: 'no',
    advice: 'Start the installation again from the CRM, which adds the code.',
  },
  {
    code: 'OAUTH_EXCHANGE_FAILED',
    http: 400,
    meaning: 'The CRM did not give tokens for the code: it refused the code.',
    retry: 'no',
    advice: 'Codes work once and for a short time: start the installation again from the CRM.',
  },
  {
    code: 'OAUTH_EXCHANGE_FAILED',
    http: 500,
    meaning:
      'The CRM did not give tokens for the code: it could not be reached, failed, or the tokens could not be kept.',
    retry: 'yes',
    advice: 'Start the installation again in a few minutes; the log has the cause.',
  },
  {
    code: 'TOO_MANY_REQUESTS',
    http: 429,
    meaning: 'Too many requests came from this address within a minute.',
    retry: 'yes',
    advice: 'Wait as long as Retry-After says.',
  },
  {
    code: 'INTERNAL_ERROR',
    http: 500,
    meaning: 'Something unexpected failed.',
    retry: 'yes',
    advice: 'Start the installation again; if it stays, give the requestId to the operator.',
  },
] as const satisfies readonly Omit<CodeEntry, 'channel'>[];

const ENROLMENT = [
  {
    code: 'INVALID_REQUEST',
    http: 400,
    meaning: 'The request lacks what this path needs, or holds it in a form that cannot be used.',
    retry: 'no',
    advice: 'Update the Mac client; check the license key and the device id it was given.',
  },
  {
    code: 'UNAUTHORIZED',
    http: 401,
    meaning: 'The credential is missing or not valid (any more).',
    retry: 'no',
    advice: 'Activate the Mac again with its license key.',
  },
  {
    code: 'LICENSE_INVALID',
    http: 403,
    meaning: 'There is no such license key, or it was revoked.',
    retry: 'no',
    advice: 'Check the key for typing errors, or ask the operator for a new one.',
  },
  {
    code: 'LICENSE_SUSPENDED',
    http: 403,
    meaning: 'The license is suspended.',
    retry: 'later',
    advice: 'Ask the operator why; the same key works again once it is resumed.',
  },
  {
    code: 'FORBIDDEN',
    http: 403,
    meaning: 'The credential is good, but not for this.',
    retry: 'no',
    advice: 'Connect this Mac to its location first; the operator sees who holds it.',
  },
  {
    code: 'SEATS_EXHAUSTED',
    http: 409,
    meaning: 'All seats of the license are taken by other Macs.',
    retry: 'later',
    advice: 'Deactivate a Mac that is no longer used, or ask the operator for more seats.',
  },
  {
    code: 'PAYLOAD_TOO_LARGE',
    http: 413,
    meaning: 'The body is larger than this path takes.',
    retry: 'no',
    advice: 'Send a smaller file.',
  },
  {
    code: 'UNSUPPORTED_MEDIA_TYPE',
    http: 415,
    meaning: 'The body is of a type, or in an encoding, that this path does not take.',
    retry: 'no',
    advice: 'Send one of the media types listed in the documentation, without compression.',
  },
  {
    code: 'UPGRADE_REQUIRED',
    http: 426,
    meaning: 'The socket was opened without the subprotocol that the service speaks.',
    retry: 'no',
    advice: 'Update the Mac client.',
  },
  {
    code: 'TOO_MANY_REQUESTS',
    http: 429,
    meaning: 'Too many requests came from this address within a minute.',
    retry: 'yes',
    advice: 'Wait as long as Retry-After says.',
  },
  {
    code: 'INTERNAL_ERROR',
    http: 500,
    meaning: 'Something unexpected failed.',
    retry: 'yes',
    advice: 'Try again with backoff; if it stays, give the requestId to the operator.',
  },
  {
    code: 'SERVICE_UNAVAILABLE',
    http: 503,
    meaning: 'The service is overloaded, stopping, or a part that it needs is down.',
    retry: 'yes',
    advice: 'Connect again after a moment, with jitter.',
  },
  {
    code: 'INSUFFICIENT_STORAGE',
    http: 507,
    meaning: 'The service has no room left to keep the file.',
    retry: 'later',
    advice: 'The operator makes room or shortens the lifetime of files; the Mac keeps the file until then.',
  },
] as const satisfies readonly Omit<CodeEntry, 'channel'>[];

const OPERATOR = [
  {
    code: 'INVALID_REQUEST',
    http: 400,
    label: 'Invalid request',
    meaning: 'The request lacks what this path needs, or holds it in a form that cannot be used.',
    retry: 'no',
    advice: 'The message names the field and the rule.',
  },
  {
    code: 'UNAUTHORIZED',
    http: 401,
    meaning: 'The credential is missing or not valid (any more).',
    retry: 'no',
    advice: 'Send the operator token as a bearer token, or sign in to the console again.',
  },
  {
    code: 'FORBIDDEN',
    http: 403,
    meaning: 'The credential is good, but not for this.',
    retry: 'no',
    advice: 'Reload the console; a change must come from its own pages.',
  },
  {
    code: 'NOT_FOUND',
    http: 404,
    meaning: 'Nothing lives at this path.',
    retry: 'no',
    advice: 'List what there is and check the id.',
  },
  {
    code: 'METHOD_NOT_ALLOWED',
    http: 405,
    meaning: 'The path exists, but not for this method.',
    retry: 'no',
    advice: 'Use a method listed in the Allow header.',
  },
  {
    code: 'CONFLICT',
    http: 409,
    meaning: 'The change does not fit what is stored now.',
    retry: 'no',
    advice: 'Read the current state and decide again; the message says what stands in the way.',
  },
  {
    code: 'PAYLOAD_TOO_LARGE',
    http: 413,
    meaning: 'The body is larger than this path takes.',
    retry: 'no',
    advice: 'Send less at once.',
  },
  {
    code: 'UNSUPPORTED_MEDIA_TYPE',
    http: 415,
    meaning: 'The body is of a type, or in an encoding, that this path does not take.',
    retry: 'no',
    advice: 'Send JSON as application/json, without compression.',
  },
  {
    code: 'TOO_MANY_REQUESTS',
    http: 429,
    meaning: 'Too many requests came from this address within a minute.',
    retry: 'yes',
    advice: 'Wait as long as Retry-After says.',
  },
  {
    code: 'INTERNAL_ERROR',
    http: 500,
    meaning: 'Something unexpected failed.',
    retry: 'yes',
    advice: 'Look for the requestId in the log.',
  },
  {
    code: 'SERVICE_UNAVAILABLE',
    http: 503,
    meaning: 'The service is overloaded, stopping, or a part that it needs is down.',
    retry: 'yes',
    advice: 'Look at /readyz for the part that is down.',
  },
] as const satisfies readonly Omit<CodeEntry, 'channel'>[];

export type WebhookCode = (typeof WEBHOOK)[number]['code'];
export type StatusCode = (typeof STATUS)[number]['code'];
export type InboundCode = (typeof INBOUND)[number]['code'];
export type OAuthCode = (typeof OAUTH)[number]['code'];
export type EnrolmentCode = (typeof ENROLMENT)[number]['code'];
export type OperatorCode = (typeof OPERATOR)[number]['code'];
export type Code = WebhookCode | StatusCode | InboundCode | OAuthCode | EnrolmentCode | OperatorCode;

/** Every code there is, by place. The documentation and the command that explains a code are made from it (V2). */
export const CODES: readonly CodeEntry[] = [
  ...WEBHOOK.map((entry) => ({ ...entry, channel: 'webhook' as const })),
  ...STATUS.map((entry) => ({ ...entry, channel: 'status' as const })),
  ...INBOUND.map((entry) => ({ ...entry, channel: 'inbound' as const })),
  ...OAUTH.map((entry) => ({ ...entry, channel: 'oauth' as const })),
  ...ENROLMENT.map((entry) => ({ ...entry, channel: 'enrolment' as const })),
  ...OPERATOR.map((entry) => ({ ...entry, channel: 'operator' as const })),
];

/** Everywhere a code is met; empty for a code that is not ours. */
export function codeEntries(code: string): readonly CodeEntry[] {
  return CODES.filter((entry) => entry.code === code);
}

/** A code in the given place, or in the first place where it is met. */
export function codeEntry(code: string, channel?: Channel): CodeEntry | undefined {
  return CODES.find((entry) => entry.code === code && (channel === undefined || entry.channel === channel));
}
