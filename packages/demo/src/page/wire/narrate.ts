import { parseFooter } from '@footbridge/kit';
import type { Metadata } from '@footbridge/kit';

import { BUSINESS, nameOf } from '../people.ts';
import type { Exchange, HttpExchange } from '../shapes.ts';

/** What begins with an entry, if something does: who does what, and the words if there are any. */
export interface Chapter {
  readonly title: string;
  readonly quote: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Where somebody acts, a chapter begins; everything below it follows from that. */
export function chapterOf(entry: Exchange, before: Exchange | undefined): Chapter | undefined {
  if (entry.kind === 'http') {
    if (entry.path.startsWith('/oauth/callback')) return { title: 'The CRM installs the app', quote: '' };
    if (entry.path.startsWith('/mac/activate')) return { title: 'A Mac takes its seat', quote: '' };
    return entry.path.startsWith('/crm/webhook') ? webhookChapter(entry) : undefined;
  }
  if (entry.type === 'message_received') return receivedChapter(read(entry.text));
  const isNewcomer = before?.kind === 'http' && before.path.startsWith('/mac/activate');
  return entry.type === 'register' && !isNewcomer ? { title: 'The Mac connects', quote: '' } : undefined;
}

const REFUSALS: Record<number, string> = {
  401: 'Somebody without a valid signature',
  404: `${BUSINESS} writes, nobody is there`,
  429: `${BUSINESS} writes too often`,
};

function webhookChapter({ requestBody, status }: HttpExchange): Chapter {
  const message = textOf(read(requestBody)['message']);
  const { text, metadata } = parseFooter(message);
  const title = REFUSALS[status ?? 0] ?? `${BUSINESS} ${deed(metadata)}`;
  return { title, quote: metadata?.reaction === undefined ? text : glyphOf(metadata.reaction) };
}

function receivedChapter(frame: Fields): Chapter {
  const metadata: Metadata = { ...frame };
  const quote = metadata.reaction === undefined ? textOf(frame['text']) : glyphOf(metadata.reaction);
  return { title: `${nameOf(textOf(frame['sender']))} ${deed(metadata)}`, quote };
}

function deed(metadata: Metadata | null): string {
  if (metadata?.reaction !== undefined)
    return metadata.reaction.action === 'remove' ? 'takes a tapback away' : 'taps back';
  if (metadata?.sticker !== undefined) return 'sends a sticker';
  if (metadata?.voice !== undefined) return 'sends a voice message';
  return 'writes';
}

const GLYPHS: Record<string, string> = {
  love: '❤️',
  like: '👍',
  dislike: '👎',
  laugh: 'Ha ha',
  emphasize: '‼️',
  question: '❓',
};

const glyphOf = ({ type, emoji, kind }: NonNullable<Metadata['reaction']>): string =>
  emoji ?? GLYPHS[type ?? ''] ?? kind;

/** What a call or frame means, in a few words for people who never saw one. */
export function plainWords(entry: Exchange): string {
  if (entry.kind === 'frame') return frameWords(entry.type, entry.text);
  const [, , words] = CALLS.find(([method, path]) => entry.method === method && path.test(entry.path)) ?? [];
  return words === undefined ? '' : words(entry);
}

const CALLS: readonly (readonly [string, RegExp, (entry: HttpExchange) => string])[] = [
  ['POST', /^\/crm\/webhook/, webhookWords],
  ['PUT', /\/status$/, statusWords],
  ['POST', /\/messages\/inbound$/, (entry) => (took(entry) ? 'Into the CRM’s inbox' : again(entry))],
  ['POST', /\/messages\/upload$/, () => 'The file, for the CRM to keep'],
  ['GET', /^\/contacts\//, () => 'Who is this?'],
  ['POST', /^\/contacts\/search/, () => 'Whose number is this?'],
  ['POST', /^\/contacts\//, () => 'A new contact'],
  ['POST', /^\/oauth\/token/, () => 'Code in, tokens out'],
  ['GET', /^\/oauth\/callback/, () => 'Here is the code'],
  ['POST', /^\/mac\/activate/, () => 'License key in, device token out'],
  ['POST', /^\/mac\/assets/, () => 'The file, for the CRM to fetch'],
];

const REFUSED: Record<number, string> = {
  400: 'Refused, and told why',
  401: 'Refused: no key we trust',
  404: 'Refused: no Mac is connected',
  429: 'Refused: wait a minute',
};

function webhookWords({ status }: HttpExchange): string {
  if (status === null) return 'No answer came';
  return REFUSED[status ?? 0] ?? 'Signed: please send this';
}

const TOLD: Record<string, string> = {
  pending: 'It is on its way',
  delivered: 'It was delivered',
  failed: 'It failed, and why',
};

function statusWords(entry: HttpExchange): string {
  return took(entry) ? (TOLD[textOf(read(entry.requestBody)['status'])] ?? '') : again(entry);
}

const took = ({ status }: HttpExchange): boolean => status === undefined || (status !== null && status < 400);

const again = ({ status }: HttpExchange): string =>
  status === null
    ? 'No answer: asked again'
    : status === 401
      ? 'A new token is needed'
      : 'Not taken: tried again';

const FRAMES: Record<string, string> = {
  register: 'I am here for this location',
  registered: 'You act for it from now on',
  send: 'Send this, please',
  message_received: 'This came in',
  redeliver: 'Once more, please',
};

const OUTCOMES: Record<string, string> = {
  delivered: 'The CRM has it, forget it',
  skipped: 'Nothing to tell, forget it',
  rejected: 'The CRM refused it for good',
};

const CLOSED: Record<string, string> = {
  4501: 'A newer Mac took over',
  1001: 'Going away',
  1000: 'Goodbye',
};

function frameWords(type: string, text: string): string {
  if (type === 'close') return CLOSED[text.split(' ')[0] ?? ''] ?? '';
  const { status, outcome } = read(text);
  if (type === 'message_status') return status === 'failed' ? 'It could not be sent' : 'It was sent';
  return type === 'ack' ? (OUTCOMES[textOf(outcome)] ?? '') : (FRAMES[type] ?? '');
}

function read(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
