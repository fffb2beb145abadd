import { parseFooter } from '@footbridge/kit';

import type { CallOrFrame, Exchange, HttpExchange, ProcessEvent } from '../types.ts';
import { headingFor } from './explain.ts';
import type { Heading } from './explain.ts';
import { readFields, textOf } from './fields.ts';

/** The calls and frames of one message or of one connection, in order. */
export interface Group {
  readonly id: string;
  readonly at: number;
  readonly heading: Heading;
  readonly rows: CallOrFrame[];
}

export type WireItem = Group | ProcessEvent;

/** The heading of rows whose first row is no longer recorded. */
const EARLIER: Heading = { title: 'Earlier traffic', quote: '' };

/**
 * Groups the traffic by message. The groups are in the order of their first row. An event of a process, such as a kill,
 * separates what was before it from what follows: a message that continues after it has a second group.
 */
export function groupByMessage(entries: readonly Exchange[]): WireItem[] {
  const keys = new MessageKeys(entries);
  const headings = new Map(entries.flatMap(receivedHeadings));
  const items: WireItem[] = [];
  let groups = new Map<string, Group>();
  for (const entry of entries) {
    if (entry.kind === 'event') {
      items.push(entry);
      groups = new Map();
      continue;
    }
    const key = keys.of(entry);
    const heading = headings.get(key) ?? headingFor(entry);
    if (heading !== undefined) headings.set(key, heading);
    const known = groups.get(key);
    if (known !== undefined) {
      known.rows.push(entry);
      continue;
    }
    const group = { id: `${entry.n}`, at: entry.at, heading: heading ?? EARLIER, rows: [entry] };
    groups.set(key, group);
    items.push(group);
  }
  return items;
}

/** A run of consecutive groups with the same heading, or an event. */
export type Burst = ProcessEvent | { readonly groups: readonly [Group, ...Group[]] };

/** Joins consecutive groups with the same heading. */
export function joinEqual(items: readonly WireItem[]): Burst[] {
  const bursts: Burst[] = [];
  for (const item of items) {
    const last = bursts.at(-1);
    if ('kind' in item) bursts.push(item);
    else if (last !== undefined && 'groups' in last && isSame(last.groups[0].heading, item.heading))
      bursts[bursts.length - 1] = { groups: [...last.groups, item] };
    else bursts.push({ groups: [item] });
  }
  return bursts;
}

const isSame = (a: Heading, b: Heading): boolean => a.title === b.title && a.quote === b.quote;

/** Finds the message of each call and frame by the ids it carries. */
class MessageKeys {
  /** The messages by the URL of an attachment, because the Mac uploads a file before it sends the message. */
  readonly #byAttachment: ReadonlyMap<string, string>;
  /** Acknowledgements have only a sequence number, which is unique on a connection. */
  readonly #bySeq = new Map<string, string>();
  readonly #byRequest = new Map<string, string>();
  readonly #byContact = new Map<string, string>();
  readonly #connections = new Map<number, string>();
  /** Messages from Macs that are not acknowledged, with their senders. */
  readonly #open = new Map<string, string>();
  #activation: string | undefined;
  #withoutToken: string | undefined;
  #last = '';

  constructor(entries: readonly Exchange[]) {
    this.#byAttachment = new Map(entries.flatMap(attachmentsOf));
  }

  of(entry: CallOrFrame): string {
    const key = entry.kind === 'http' ? this.#ofCall(entry) : this.#ofFrame(entry);
    if (entry.kind === 'http' && entry.leg === 'service→crm' && entry.status === 401)
      this.#withoutToken ??= key;
    this.#last = key;
    return key;
  }

  #ofFrame({ type, text, link, n }: Exclude<CallOrFrame, HttpExchange>): string {
    const fields = readFields(text);
    const seq = `${link} ${String(fields['seq'])}`;
    if (type === 'message_received') {
      const key = inboundKey(fields['guid']);
      this.#bySeq.set(seq, key);
      this.#open.set(key, textOf(fields['sender']));
      return key;
    }
    if (type === 'send' || type === 'received' || type === 'message_status') {
      const key = this.#outboundKey(fields['messageId'], fields['requestId'], n);
      if (type === 'message_status') this.#bySeq.set(seq, key);
      return key;
    }
    if (type === 'close') return `close ${link}`;
    const acknowledged = this.#bySeq.get(seq);
    if (type === 'ack' && acknowledged !== undefined) this.#open.delete(acknowledged);
    return acknowledged ?? this.#connectionKey(link);
  }

  #ofCall(entry: HttpExchange): string {
    const { path, method, requestBody, answerBody, n } = entry;
    const body = readFields(requestBody);
    if (path.startsWith('/crm/webhook')) {
      const key = this.#outboundKey(body['messageId'], readFields(answerBody)['requestId'], n);
      this.#byContact.set(textOf(body['contactId']), key);
      return key;
    }
    if (path.startsWith('/mac/assets'))
      return this.#byAttachment.get(textOf(readFields(answerBody)['url'])) ?? `upload ${n}`;
    if (path.startsWith('/mac/activate')) return (this.#activation = `activation ${n}`);
    if (path.startsWith('/oauth/callback')) return (this.#withoutToken = `install ${n}`);
    if (path.startsWith('/oauth/token')) {
      const key = this.#withoutToken ?? `token ${n}`;
      this.#withoutToken = undefined;
      return key;
    }
    const [, statusOf] = /^\/conversations\/messages\/([^/]+)\/status/.exec(path) ?? [];
    if (statusOf !== undefined) return `out ${statusOf}`;
    if (method === 'POST' && path.startsWith('/conversations/messages/inbound')) {
      const guid = parseFooter(textOf(body['message'])).metadata?.message_guid;
      if (guid !== undefined) return inboundKey(guid);
    }
    return this.#openFor(path) ?? this.#last;
  }

  /** Other calls, such as the lookup of a contact, are made for a message that is not acknowledged yet. */
  #openFor(path: string): string | undefined {
    const number = new URL(path, 'http://crm').searchParams.get('number');
    const open = [...this.#open];
    const [found] = open.find(([, sender]) => sender === number) ?? open[0] ?? [];
    const [, contactId = ''] = /^\/contacts\/([^/?]+)$/.exec(path) ?? [];
    return this.#byContact.get(contactId) ?? found;
  }

  #outboundKey(messageId: unknown, requestId: unknown, n: number): string {
    const known = this.#byRequest.get(textOf(requestId));
    const key = textOf(messageId) === '' ? (known ?? `call ${n}`) : `out ${textOf(messageId)}`;
    if (textOf(requestId) !== '') this.#byRequest.set(textOf(requestId), key);
    return key;
  }

  /** The first connection after an activation belongs to the Mac that was activated. */
  #connectionKey(link: number): string {
    const key = this.#connections.get(link) ?? this.#activation ?? `connection ${link}`;
    this.#activation = undefined;
    this.#connections.set(link, key);
    return key;
  }
}

const inboundKey = (guid: unknown): string => `in ${textOf(guid)}`;

/** A message from a Mac has its own heading, even if its first row is the upload of a file. */
function receivedHeadings(entry: Exchange): [string, Heading][] {
  if (entry.kind !== 'frame' || entry.type !== 'message_received') return [];
  const heading = headingFor(entry);
  return heading === undefined ? [] : [[inboundKey(readFields(entry.text)['guid']), heading]];
}

function attachmentsOf(entry: Exchange): [string, string][] {
  if (entry.kind !== 'frame' || entry.type !== 'message_received') return [];
  const { attachments, guid } = readFields(entry.text);
  return Array.isArray(attachments) ? attachments.map((url) => [textOf(url), inboundKey(guid)]) : [];
}
