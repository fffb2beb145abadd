import { parseFooter } from '@footbridge/kit';
import type { Metadata } from '@footbridge/kit';

import { BUSINESS, nameOf } from '../people.ts';
import type { CallOrFrame, HttpExchange } from '../types.ts';
import { readFields, textOf } from './fields.ts';
import type { Fields } from './fields.ts';

/** A heading in the list of entries: an action, and the text of its message if there is any. */
export interface Heading {
  readonly title: string;
  readonly quote: string;
}

/** Returns the heading of the group that starts with this entry, or undefined for an entry that results from another one. */
export function headingFor(entry: CallOrFrame): Heading | undefined {
  if (entry.kind === 'frame') {
    if (entry.type === 'message_received') return receivedHeading(readFields(entry.text));
    return titled(FRAME_TITLES[entry.type === 'close' ? entry.text.slice(0, 4) : entry.type]);
  }
  if (entry.path.startsWith('/crm/webhook')) return webhookHeading(entry);
  return titled(CALL_TITLES.find(([path]) => entry.path.startsWith(path))?.[1]);
}

const titled = (title: string | undefined): Heading | undefined =>
  title === undefined ? undefined : { title, quote: '' };

const CALL_TITLES: readonly (readonly [string, string])[] = [
  ['/oauth/callback', 'The CRM installs the app'],
  ['/oauth/token', 'Footbridge requests a token'],
  ['/mac/activate', 'A Mac is activated'],
  ['/mac/assets', 'The Mac uploads a file'],
];

/** By type, or by close code. */
const FRAME_TITLES: Record<string, string> = {
  register: 'The Mac connects',
  4501: 'A newer Mac takes over',
  1000: 'The Mac disconnects',
  1001: 'The Mac disconnects',
};

const REJECTED_TITLES: Record<number, string> = {
  401: 'Request with an invalid signature',
  404: `${BUSINESS} sends a message, no Mac is connected`,
  429: `${BUSINESS} exceeds the rate limit`,
};

function webhookHeading({ requestBody, status }: HttpExchange): Heading {
  const fields = readFields(requestBody);
  const { text, metadata } = parseFooter(textOf(fields['message']));
  const action = actionOf(metadata, text, fields['attachments']);
  const title = REJECTED_TITLES[status ?? 0] ?? `${BUSINESS} ${action}`;
  return { title, quote: metadata?.reaction === undefined ? text : symbolOf(metadata.reaction) };
}

function receivedHeading(frame: Fields): Heading {
  const metadata: Metadata = { ...frame };
  const quote = metadata.reaction === undefined ? textOf(frame['text']) : symbolOf(metadata.reaction);
  const action = actionOf(metadata, textOf(frame['text']), frame['attachments']);
  return { title: `${nameOf(textOf(frame['sender']))} ${action}`, quote };
}

function actionOf(metadata: Metadata | null, text: string, attachments: unknown): string {
  if (metadata?.reaction !== undefined)
    return metadata.reaction.action === 'remove' ? 'removes a reaction' : 'reacts';
  if (metadata?.sticker !== undefined) return 'sends a sticker';
  if (metadata?.voice !== undefined) return 'sends a voice message';
  const isFile = text === '' && Array.isArray(attachments) && attachments.length > 0;
  return isFile ? 'sends a file' : 'sends a message';
}

const SYMBOLS: Record<string, string> = {
  love: '❤️',
  like: '👍',
  dislike: '👎',
  laugh: 'Ha ha',
  emphasize: '‼️',
  question: '❓',
};

const symbolOf = ({ type, emoji, kind }: NonNullable<Metadata['reaction']>): string =>
  emoji ?? SYMBOLS[type ?? ''] ?? kind;

/** Returns a short explanation of a call or frame, or an empty string. */
export function explain(entry: CallOrFrame): string {
  if (entry.kind === 'frame') return explainFrame(entry.type, entry.text);
  const [, , explainCall] =
    CALLS.find(([method, path]) => entry.method === method && path.test(entry.path)) ?? [];
  return explainCall === undefined ? '' : explainCall(entry);
}

const CALLS: readonly (readonly [string, RegExp, (entry: HttpExchange) => string])[] = [
  ['POST', /^\/crm\/webhook/, explainWebhook],
  ['PUT', /\/status$/, explainStatus],
  [
    'POST',
    /\/messages\/inbound$/,
    (entry) => (isAccepted(entry) ? 'Message added to the inbox' : explainRetry(entry)),
  ],
  ['GET', /^\/conversations\/search/, () => 'Conversation lookup'],
  ['GET', /^\/conversations\/[^/]+\/messages/, () => 'Is the message already there?'],
  ['POST', /\/messages\/upload$/, () => 'File uploaded to the CRM'],
  ['GET', /^\/contacts\//, () => 'Contact lookup'],
  ['POST', /^\/contacts\/search/, () => 'Contact search by phone'],
  ['POST', /^\/contacts\//, () => 'New contact'],
  ['POST', /^\/oauth\/token/, () => 'OAuth tokens requested'],
  ['GET', /^\/oauth\/callback/, () => 'OAuth code'],
  ['POST', /^\/mac\/activate/, () => 'License key for a device token'],
  ['POST', /^\/mac\/assets/, () => 'File uploaded for the CRM'],
];

const REJECTED: Record<number, string> = {
  400: 'Rejected with a reason',
  401: 'Rejected: invalid signature',
  404: 'Rejected: no Mac connected',
  429: 'Rejected: rate limit exceeded',
};

function explainWebhook({ status }: HttpExchange): string {
  if (status === null) return 'No response';
  return REJECTED[status ?? 0] ?? 'Signed request to send';
}

const STATUSES: Record<string, string> = {
  pending: 'Message on its way',
  delivered: 'Message delivered',
  failed: 'Message failed, with reason',
};

function explainStatus(entry: HttpExchange): string {
  return isAccepted(entry)
    ? (STATUSES[textOf(readFields(entry.requestBody)['status'])] ?? '')
    : explainRetry(entry);
}

const isAccepted = ({ status }: HttpExchange): boolean =>
  status === undefined || (status !== null && status < 400);

const explainRetry = ({ status }: HttpExchange): string =>
  status === null
    ? 'No response, will retry'
    : status === 401
      ? 'Token rejected, needs a refresh'
      : 'Not accepted, will retry';

const FRAMES: Record<string, string> = {
  register: 'Mac registers for the location',
  registered: 'Mac now serves the location',
  send: 'Message to send',
  received: 'Mac has the message',
  state: 'Mac reports its state',
  message_received: 'Message received',
  redeliver: 'Request to resend',
  reach_request: 'iMessage or SMS?',
  reach_result: 'Mac says how it reaches a person',
};

const OUTCOMES: Record<string, string> = {
  delivered: 'Accepted by the CRM',
  skipped: 'Skipped, nothing to deliver',
  rejected: 'Rejected by the CRM',
};

const CLOSED: Record<string, string> = {
  4501: 'Displaced by a newer Mac',
  1001: 'Going away',
  1000: 'Closed normally',
};

function explainFrame(type: string, text: string): string {
  if (type === 'close') return CLOSED[text.split(' ')[0] ?? ''] ?? '';
  const { status, outcome } = readFields(text);
  if (type === 'message_status') return status === 'failed' ? 'Mac could not send it' : 'Sent by the Mac';
  return type === 'ack' ? (OUTCOMES[textOf(outcome)] ?? '') : (FRAMES[type] ?? '');
}
