/**
 * Where a code appears. `webhook`, `oauth`, `enrolment` and `operator`: in an HTTP response. `status`: as `error.code` of a status
 * callback. `inbound`: in the journal entry of an inbound message that the CRM does not have, or may have twice.
 */
export type Channel = 'webhook' | 'status' | 'inbound' | 'oauth' | 'enrolment' | 'operator';

/**
 * `yes`: retry soon, with backoff. `later`: retry once the cause named in the advice is resolved. `sometimes`: depends on the error
 * message. `no`: the same request will fail again.
 */
export type Retry = 'yes' | 'no' | 'sometimes' | 'later';

/** One code in one channel. A code used in several channels has one entry per channel and the same meaning in each. */
export interface CodeEntry {
  readonly code: string;
  readonly channel: Channel;
  /** The HTTP status of the response. Absent for status callbacks and inbound messages. */
  readonly http?: number;
  /** The stable `error` text of the response, where the contract specifies one. */
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
    meaning: 'The Content-Type header does not contain application/json.',
    retry: 'no',
    advice: 'Send Content-Type: application/json.',
  },
  {
    code: 'INVALID_REQUEST_BODY',
    http: 400,
    label: 'Invalid request body',
    meaning: 'The body is empty, or its media type is a JSON variant that this endpoint does not accept.',
    retry: 'no',
    advice: 'Send one JSON object as application/json.',
  },
  {
    code: 'MISSING_REQUIRED_FIELDS',
    http: 400,
    label: 'Missing required fields',
    meaning:
      'A required field is missing, blank, of the wrong type, or sent under an alias that was removed.',
    retry: 'no',
    advice: 'Add the fields listed in required, at the top level and under exactly these names.',
  },
  {
    code: 'INVALID_ATTACHMENTS',
    http: 400,
    label: 'Invalid attachments',
    meaning:
      'attachments is not an array, an entry is not an absolute http or https URL, or there are too many.',
    retry: 'no',
    advice:
      'Upload the files first and pass an array of at most 20 URLs; received is the index of the invalid entry.',
  },
  {
    code: 'MESSAGE_BODY_TOO_LONG',
    http: 400,
    label: 'Message body exceeds maximum length of <limit> characters',
    meaning: 'The message is longer than the limit, counted in UTF-16 code units including the footer.',
    retry: 'no',
    advice: 'Shorten the message to at most limit code units, or split it.',
  },
  {
    code: 'RECIPIENT_PHONE_INVALID',
    http: 400,
    label: 'Invalid phone number format',
    meaning: 'The phone is neither a possible phone number nor a short code.',
    retry: 'no',
    advice: 'Send the number in E.164 format, for example +14155550100.',
  },
  {
    code: 'UNSUPPORTED_MESSAGE_TYPE',
    http: 400,
    label: 'Unsupported message type: <value>',
    meaning: 'The type field is present and is not an accepted type, by default SMS.',
    retry: 'no',
    advice:
      'Omit type or set it to SMS; route email and other message types elsewhere. The operator accepts further types with CRM_ACCEPTED_TYPES.',
  },
  {
    code: 'MESSAGE_TOO_OLD',
    http: 422,
    label: 'Message too old',
    meaning: 'The message is older than MESSAGE_MAX_AGE_SEC allows: the CRM retried an old webhook.',
    retry: 'no',
    advice: 'Write the message again if it still applies.',
  },
  {
    code: 'OPTED_OUT',
    http: 403,
    label: 'Opted out',
    meaning: 'The recipient asked not to receive texts from this location, and OPT_OUT_ENFORCED is true.',
    retry: 'no',
    advice: 'Do not text this number until the recipient opts in again, with START or in the CRM.',
  },
  {
    code: 'SET_ASIDE',
    http: 422,
    label: 'Set aside',
    meaning:
      'The service or the agent on the Mac ended twice while it worked on this message, so the message is not handled again.',
    retry: 'later',
    advice: 'The operator allows another attempt with footbridge redeliver ID; then send the message again.',
  },
  {
    code: 'LOCATION_NOT_CONNECTED',
    http: 404,
    label: 'Location not connected',
    meaning: 'No Mac is connected for this location. The message was not queued.',
    retry: 'later',
    advice:
      'Send it again when the Mac for this location is back online; the operator sees its state with footbridge location list.',
  },
  {
    code: 'TOO_MANY_REQUESTS',
    http: 429,
    label: 'TOO_MANY_REQUESTS',
    meaning: 'The location exceeded its limit of webhook requests per minute.',
    retry: 'yes',
    advice: 'Wait for the number of seconds in Retry-After, then send the same bytes again.',
  },
  {
    code: 'GONE',
    http: 410,
    label: 'Gone',
    meaning: 'This endpoint was removed.',
    retry: 'no',
    advice: 'Post to /crm/webhook; the response names the replacement.',
  },
  {
    code: 'NOT_FOUND',
    http: 404,
    label: 'Not found',
    meaning: 'There is no resource at this path.',
    retry: 'no',
    advice: 'Check the path; the webhook is POST /crm/webhook.',
  },
  {
    code: 'METHOD_NOT_ALLOWED',
    http: 405,
    label: 'Method not allowed',
    meaning: 'The path does not support this HTTP method.',
    retry: 'no',
    advice: 'Use a method listed in the Allow header.',
  },
  {
    code: 'SERVICE_UNAVAILABLE',
    http: 503,
    label: 'Service unavailable',
    meaning: 'The service is overloaded or shutting down, or one of its dependencies is down.',
    retry: 'yes',
    advice: 'Wait for the number of seconds in Retry-After, then send the same bytes again.',
  },
  {
    code: 'INTERNAL_ERROR',
    http: 500,
    label: 'Internal error',
    meaning: 'An unexpected error occurred.',
    retry: 'yes',
    advice: 'Retry with backoff; if it keeps failing, give the requestId to the operator.',
  },
] as const satisfies readonly Omit<CodeEntry, 'channel'>[];

const STATUS = [
  {
    code: 'MISSING_REQUIRED_FIELDS',
    meaning: 'The webhook request was rejected: a required field is missing, blank or of the wrong type.',
    retry: 'no',
    advice: 'Add the missing fields; the webhook response listed them in required.',
  },
  {
    code: 'MESSAGE_BODY_TOO_LONG',
    meaning:
      'The webhook request was rejected: the message is longer than the limit, counted in UTF-16 code units including the footer.',
    retry: 'no',
    advice: 'Shorten the message, or split it.',
  },
  {
    code: 'RECIPIENT_PHONE_INVALID',
    meaning:
      'The webhook request was rejected: the phone is neither a possible phone number nor a short code.',
    retry: 'no',
    advice: "Correct the contact's phone number, preferably to E.164 format.",
  },
  {
    code: 'MESSAGE_TOO_OLD',
    meaning: 'The webhook request was rejected: the message is older than MESSAGE_MAX_AGE_SEC allows.',
    retry: 'no',
    advice: 'Write the message again if it still applies.',
  },
  {
    code: 'OPTED_OUT',
    meaning: 'The webhook request was rejected: the recipient asked not to receive texts from this location.',
    retry: 'no',
    advice: 'Do not text this number until the recipient opts in again, with START or in the CRM.',
  },
  {
    code: 'SET_ASIDE',
    meaning:
      'The service or the agent on the Mac ended twice while it worked on this message, so the message is not handled again.',
    retry: 'later',
    advice: 'The operator allows another attempt with footbridge redeliver ID; then send the message again.',
  },
  {
    code: 'CLIENT_NOT_CONNECTED',
    meaning: 'No Mac was connected for the location. The message was neither sent nor queued.',
    retry: 'later',
    advice: 'Send it again when the Mac for this location is back online.',
  },
  {
    code: 'IMESSAGE_GROUP_INVALID_RECIPIENTS',
    meaning: 'The recipients do not form a group that iMessage can address.',
    retry: 'no',
    advice: 'Check that every recipient has iMessage, or message them individually.',
  },
  {
    code: 'IMESSAGE_ERROR',
    meaning: 'The Messages app could not send the message.',
    retry: 'sometimes',
    advice:
      "Check the address and the Mac's network: retry after a network failure, but not for an invalid address.",
  },
  {
    code: 'INVALID_FRAME',
    meaning:
      'The Mac rejected the request before passing it to Messages: the footer is unreadable, a field is missing, or the messageId was used for another message.',
    retry: 'no',
    advice: 'Correct the footer or the fields, and send the message with a new messageId.',
  },
  {
    code: 'UI_AUTOMATION_DISABLED',
    meaning: 'UI automation, which this feature requires, is disabled on the Mac.',
    retry: 'no',
    advice: 'Ask the owner of the Mac to enable it: FOOTBRIDGE_UI_AUTOMATION=true for the agent.',
  },
  {
    code: 'AX_DENIED',
    meaning: 'macOS has not granted the Mac client a permission it needs.',
    retry: 'no',
    advice:
      'Run footbridge-agent doctor on the Mac, which names the permission. Grant it in System Settings > Privacy & Security.',
  },
  {
    code: 'RATE_LIMITED',
    meaning: "The Mac's queue is full, and the message was not added to it.",
    retry: 'yes',
    advice: 'Wait about 30 seconds, send more slowly, and give up after a few attempts.',
  },
  {
    code: 'INTERNAL_ERROR',
    meaning: 'An unexpected error occurred on the Mac or in the service.',
    retry: 'yes',
    advice: 'Retry with backoff; if it keeps failing, give the messageId to the operator.',
  },
  {
    code: 'TIMEOUT',
    meaning: 'An operation on the Mac timed out.',
    retry: 'yes',
    advice:
      'Check in Messages on the Mac whether it was sent; if not, retry under a new messageId. If it happens often, check whether the Mac is overloaded or asleep.',
  },
  {
    code: 'TARGET_NOT_FOUND',
    meaning: 'The message to react to could not be found or displayed on the Mac.',
    retry: 'sometimes',
    advice: 'Check target_message_guid and chat_id; retry shortly if the message has only just arrived.',
  },
  {
    code: 'INVALID_KIND_FIELD_COMBO',
    meaning: 'The reaction or sticker lacks a field that its kind requires, or tries to remove a sticker.',
    retry: 'no',
    advice:
      'classic requires type, emoji requires emoji, sticker requires bytes or an https url and can only be added.',
  },
  {
    code: 'PICKER_FAILED',
    meaning: 'The reaction picker in Messages did not open or did not respond.',
    retry: 'yes',
    advice: 'Retry after a few seconds.',
  },
  {
    code: 'EMOJI_NOT_IN_RECENTS',
    meaning: 'The emoji could not be applied, or did not appear in the chat within about two seconds.',
    retry: 'no',
    advice: 'Fall back to a classic Tapback or a text message.',
  },
  {
    code: 'STICKER_NOT_FEASIBLE',
    meaning: 'The sticker could not be applied to the message, or did not appear on it in time.',
    retry: 'yes',
    advice: 'Retry once, then fall back to a classic Tapback.',
  },
  {
    code: 'STICKER_DOWNLOAD_FAILED',
    meaning: 'The Mac could not download the sticker image.',
    retry: 'yes',
    advice: 'Check that the url serves the image, or send bytes instead.',
  },
  {
    code: 'STICKER_ENCODE_FAILED',
    meaning: 'The Mac could not decode the sticker image.',
    retry: 'no',
    advice: 'Send a PNG or JPEG image.',
  },
  {
    code: 'COMPOSE_FAILED',
    meaning: 'The Mac could not compose the sticker message. macOS 14 does not support it.',
    retry: 'sometimes',
    advice:
      'On macOS 14, update to macOS 15 or later; otherwise retry once or send the image as an attachment.',
  },
  {
    code: 'NOT_IMPLEMENTED',
    meaning: 'The Mac client does not support this kind of reaction.',
    retry: 'no',
    advice: 'Use classic, emoji or sticker, or update the Mac client.',
  },
] as const satisfies readonly Omit<CodeEntry, 'channel'>[];

const INBOUND = [
  {
    code: 'NO_TOKEN',
    meaning: 'The location has no token for calls to the CRM. The message waits on the Mac.',
    retry: 'later',
    advice: 'Install the app in the location. Without OAuth, set CRM_PIT_TOKENS.',
  },
  {
    code: 'TOKEN_REJECTED',
    meaning: 'The CRM no longer accepts the token of the location. The message waits on the Mac.',
    retry: 'later',
    advice: 'Install the app in the location again, or without OAuth replace its private token.',
  },
  {
    code: 'NO_CONTACT',
    meaning:
      'The CRM has no contact for the sender, and none could be created. The message stays on the Mac.',
    retry: 'later',
    advice: 'Add the sender as a contact or set CRM_CREATE_CONTACTS=true, then run footbridge redeliver ID.',
  },
  {
    code: 'CRM_REFUSED',
    meaning:
      'The CRM permanently rejected the message; the reason has its explanation. The message stays on the Mac.',
    retry: 'sometimes',
    advice: 'Fix the cause in the CRM or in the settings, then run footbridge redeliver ID.',
  },
  {
    code: 'UNCERTAIN',
    meaning:
      'The response of the CRM was lost and its conversation could not be read, so it may already have the message. INBOUND_ON_UNCERTAIN decides: retry posts it again, which may create a duplicate; park keeps it on the Mac.',
    retry: 'later',
    advice:
      'Run footbridge show ID. If a scope is missing (conversations.readonly, conversations/message.readonly), grant it and install the app again. Redeliver a parked message if the CRM does not show it; delete one copy of a message that it shows twice.',
  },
  {
    code: 'SET_ASIDE',
    meaning:
      'The service or the agent on the Mac ended twice while it worked on this message, so the message is not handled again. It stays on the Mac.',
    retry: 'later',
    advice: 'Update the service and the agent, then run footbridge redeliver ID.',
  },
] as const satisfies readonly Omit<CodeEntry, 'channel'>[];

const OAUTH = [
  {
    code: 'OAUTH_DISABLED',
    http: 503,
    meaning: 'OAuth is disabled; the service uses private integration tokens.',
    retry: 'no',
    advice: 'Set CRM_OAUTH_ENABLED=true to install from the marketplace.',
  },
  {
    code: 'OAUTH_NOT_CONFIGURED',
    http: 500,
    meaning: 'OAuth is enabled, but required settings are missing.',
    retry: 'later',
    advice: 'The operator must set the settings listed in missing and restart the service.',
  },
  {
    code: 'INVALID_REQUEST',
    http: 400,
    meaning: 'A required part of the request is missing or invalid.',
    retry: 'no',
    advice: 'Start the installation again from the CRM, which adds the code.',
  },
  {
    code: 'OAUTH_EXCHANGE_FAILED',
    http: 400,
    meaning: 'The code could not be exchanged for tokens: the CRM rejected the code.',
    retry: 'no',
    advice: 'Codes are single-use and expire quickly; start the installation again from the CRM.',
  },
  {
    code: 'OAUTH_EXCHANGE_FAILED',
    http: 500,
    meaning:
      'The code could not be exchanged for tokens: the CRM was unreachable or failed, or the tokens could not be stored.',
    retry: 'yes',
    advice: 'Start the installation again in a few minutes; the log has the cause.',
  },
  {
    code: 'TOO_MANY_REQUESTS',
    http: 429,
    meaning: 'This address exceeded its limit of requests per minute.',
    retry: 'yes',
    advice: 'Wait for the number of seconds in Retry-After.',
  },
  {
    code: 'INTERNAL_ERROR',
    http: 500,
    meaning: 'An unexpected error occurred.',
    retry: 'yes',
    advice: 'Start the installation again; if it keeps failing, give the requestId to the operator.',
  },
] as const satisfies readonly Omit<CodeEntry, 'channel'>[];

const ENROLMENT = [
  {
    code: 'INVALID_REQUEST',
    http: 400,
    meaning: 'A required part of the request is missing or invalid.',
    retry: 'no',
    advice: 'Update the Mac client; check the license key and the device id it was given.',
  },
  {
    code: 'UNAUTHORIZED',
    http: 401,
    meaning: 'The credential is missing, invalid or no longer valid.',
    retry: 'no',
    advice: 'Activate the Mac again with its license key.',
  },
  {
    code: 'LICENSE_INVALID',
    http: 403,
    meaning: 'The license key does not exist or was revoked.',
    retry: 'no',
    advice: 'Check the key for typos, or ask the operator for a new one.',
  },
  {
    code: 'LICENSE_SUSPENDED',
    http: 403,
    meaning: 'The license is suspended.',
    retry: 'later',
    advice: 'Contact the operator; the same key works again once the license is resumed.',
  },
  {
    code: 'PAIRING_CODE_INVALID',
    http: 403,
    meaning: 'The pairing code does not exist, or its location has moved to another license since.',
    retry: 'no',
    advice: 'Check the code for typos, or ask the operator for a new one.',
  },
  {
    code: 'PAIRING_CODE_USED',
    http: 403,
    meaning: 'A Mac was already paired with this code; a code works once.',
    retry: 'no',
    advice: 'Ask the operator for a new code: footbridge device pair LOCATION.',
  },
  {
    code: 'PAIRING_CODE_EXPIRED',
    http: 403,
    meaning: 'The pairing code is older than 15 minutes.',
    retry: 'no',
    advice: 'Ask the operator for a new code: footbridge device pair LOCATION.',
  },
  {
    code: 'FORBIDDEN',
    http: 403,
    meaning: 'The request has an Origin header, so it comes from a web page.',
    retry: 'no',
    advice: 'Connect with the Mac client; a web page cannot open this socket.',
  },
  {
    code: 'CONFLICT',
    http: 409,
    meaning: 'The change conflicts with the current state.',
    retry: 'later',
    advice:
      'Connect this Mac and register its location, then send the file again; footbridge location list shows which Mac holds it.',
  },
  {
    code: 'SEATS_EXHAUSTED',
    http: 409,
    meaning: 'Other Macs occupy all seats of the license.',
    retry: 'later',
    advice: 'Deactivate a Mac that is no longer used, or ask the operator for more seats.',
  },
  {
    code: 'PAYLOAD_TOO_LARGE',
    http: 413,
    meaning: 'The body exceeds the size limit of this endpoint.',
    retry: 'no',
    advice: 'Send a smaller file.',
  },
  {
    code: 'UNSUPPORTED_MEDIA_TYPE',
    http: 415,
    meaning: 'The endpoint does not accept the media type or the encoding of the body.',
    retry: 'no',
    advice: 'Send one of the media types listed in the documentation, without compression.',
  },
  {
    code: 'UPGRADE_REQUIRED',
    http: 426,
    meaning: 'The WebSocket upgrade did not offer a subprotocol that the service supports.',
    retry: 'no',
    advice: 'Update the Mac client.',
  },
  {
    code: 'TOO_MANY_REQUESTS',
    http: 429,
    meaning:
      'This address exceeded its limit of requests per minute, or this license its activations of the day.',
    retry: 'yes',
    advice: 'Wait for the number of seconds in Retry-After.',
  },
  {
    code: 'INTERNAL_ERROR',
    http: 500,
    meaning: 'An unexpected error occurred.',
    retry: 'yes',
    advice: 'Retry with backoff; if it keeps failing, give the requestId to the operator.',
  },
  {
    code: 'SERVICE_UNAVAILABLE',
    http: 503,
    meaning: 'The service is overloaded or shutting down, or one of its dependencies is down.',
    retry: 'yes',
    advice: 'Reconnect after a few seconds, with jitter.',
  },
  {
    code: 'INSUFFICIENT_STORAGE',
    http: 507,
    meaning: 'The service has no storage space left for the file.',
    retry: 'later',
    advice: 'The operator must free space or shorten the file lifetime; the Mac keeps the file until then.',
  },
] as const satisfies readonly Omit<CodeEntry, 'channel'>[];

const OPERATOR = [
  {
    code: 'INVALID_REQUEST',
    http: 400,
    label: 'Invalid request',
    meaning: 'A required part of the request is missing or invalid.',
    retry: 'no',
    advice: 'The message names the field and the rule.',
  },
  {
    code: 'UNAUTHORIZED',
    http: 401,
    meaning: 'The credential is missing, invalid or no longer valid.',
    retry: 'no',
    advice: 'Send the operator token (OPERATOR_TOKEN, or DATA_DIR/operator-token) as a bearer token.',
  },
  {
    code: 'FORBIDDEN',
    http: 403,
    label: 'Forbidden',
    meaning: 'The operator token does not allow this.',
    retry: 'no',
    advice: 'Use a token with write access, or that covers this location; footbridge token list shows them.',
  },
  {
    code: 'NOT_FOUND',
    http: 404,
    meaning: 'There is no resource at this path.',
    retry: 'no',
    advice: 'List the resources and check the id.',
  },
  {
    code: 'CONFLICT',
    http: 409,
    meaning: 'The change conflicts with the current state.',
    retry: 'no',
    advice: 'Read the current state and decide again; the message names the conflict.',
  },
  {
    code: 'PAYLOAD_TOO_LARGE',
    http: 413,
    meaning: 'The body exceeds the size limit of this endpoint.',
    retry: 'no',
    advice: 'Send a smaller request.',
  },
  {
    code: 'UNSUPPORTED_MEDIA_TYPE',
    http: 415,
    meaning: 'The endpoint does not accept the media type or the encoding of the body.',
    retry: 'no',
    advice: 'Send JSON as application/json, without compression.',
  },
  {
    code: 'MISDIRECTED_REQUEST',
    http: 421,
    label: 'Misdirected request',
    meaning: 'The request names a host that is not one of the operator listener.',
    retry: 'no',
    advice: 'Add the name to ADMIN_ALLOWED_HOSTS and restart, or call localhost or an IP address.',
  },
  {
    code: 'TOO_MANY_REQUESTS',
    http: 429,
    meaning:
      'This address exceeded its limit of requests per minute, or this token exceeded its limit of event streams.',
    retry: 'yes',
    advice: 'Wait for the number of seconds in Retry-After.',
  },
  {
    code: 'INTERNAL_ERROR',
    http: 500,
    meaning: 'An unexpected error occurred.',
    retry: 'yes',
    advice: 'Search the log for the requestId.',
  },
  {
    code: 'SERVICE_UNAVAILABLE',
    http: 503,
    meaning: 'The service is overloaded or shutting down, or one of its dependencies is down.',
    retry: 'yes',
    advice: 'Check /readyz to see which dependency is down.',
  },
] as const satisfies readonly Omit<CodeEntry, 'channel'>[];

export type WebhookCode = (typeof WEBHOOK)[number]['code'];
export type StatusCode = (typeof STATUS)[number]['code'];
export type InboundCode = (typeof INBOUND)[number]['code'];
export type OAuthCode = (typeof OAUTH)[number]['code'];
export type EnrolmentCode = (typeof ENROLMENT)[number]['code'];
export type OperatorCode = (typeof OPERATOR)[number]['code'];
export type Code = WebhookCode | StatusCode | InboundCode | OAuthCode | EnrolmentCode | OperatorCode;

/** The catalogue of codes, by channel. `docs/errors.md` and `footbridge explain` are generated from it (V2). */
export const CODES: readonly CodeEntry[] = /* @__PURE__ */ allCodes();

function allCodes(): CodeEntry[] {
  return [
    ...WEBHOOK.map((entry) => ({ ...entry, channel: 'webhook' as const })),
    ...STATUS.map((entry) => ({ ...entry, channel: 'status' as const })),
    ...INBOUND.map((entry) => ({ ...entry, channel: 'inbound' as const })),
    ...OAUTH.map((entry) => ({ ...entry, channel: 'oauth' as const })),
    ...ENROLMENT.map((entry) => ({ ...entry, channel: 'enrolment' as const })),
    ...OPERATOR.map((entry) => ({ ...entry, channel: 'operator' as const })),
  ];
}

type Entry = Omit<CodeEntry, 'channel'>;
const entryIn = (entries: readonly Entry[], code: string): Entry | undefined =>
  entries.find((entry) => entry.code === code);

/** For a program that must be small: without the codes of the other channels. */
export const webhookEntry = (code: string): Entry | undefined => entryIn(WEBHOOK, code);
export const statusEntry = (code: string): Entry | undefined => entryIn(STATUS, code);

/** Returns the entries of a code in every channel, or an empty array for an unknown code. */
export function codeEntries(code: string): readonly CodeEntry[] {
  return CODES.filter((entry) => entry.code === code);
}

/** Returns the entry of a code in the given channel, or its first entry if no channel is given. */
export function codeEntry(code: string, channel?: Channel): CodeEntry | undefined {
  return CODES.find((entry) => entry.code === code && (channel === undefined || entry.channel === channel));
}
