import { setTimeout as sleep } from 'node:timers/promises';

import { isObject } from '@footbridge/protocol/schema';

import { isAccepted, jsonOf } from './crm-api.ts';
import type { CrmApi } from './crm-api.ts';

/** Reads messages back from the CRM. */
export interface StoredMessages {
  /** Waits for stored messages whose text contains `marker`. Resolves with undefined if the CRM has no usable read calls. */
  find(contactId: string, marker: string): Promise<Found | undefined>;
  /** Resolves with the status of a message that the CRM sent; undefined if it cannot be read. */
  status(messageId: string): Promise<string | undefined>;
}

export interface Found {
  readonly texts: readonly string[];
  /** Found with the calls that the service makes after a lost response. */
  readonly byService: boolean;
}

export interface ReadOptions {
  readonly api: CrmApi;
  readonly locationId: string;
  /** An address that lists the messages of a contact as JSON, for a CRM without the read calls that the service uses. */
  readonly listUrl: string | undefined;
  readonly statusUrl: string | undefined;
  readonly signal: AbortSignal;
}

/** Reads of a CRM may lag behind its writes. */
const READ_LAG_MS = 12_000;
const POLL_MS = 300;

export function createStoredMessages(options: ReadOptions): StoredMessages {
  const { api, locationId, listUrl, statusUrl, signal } = options;

  async function byConversation(contactId: string, marker: string): Promise<string[] | undefined> {
    const query = new URLSearchParams({ locationId, contactId }).toString();
    const found = jsonOf(await api.call({ method: 'GET', path: `/conversations/search?${query}` }));
    const conversations = isObject(found) ? found['conversations'] : undefined;
    if (!Array.isArray(conversations)) return undefined;
    const texts: string[] = [];
    for (const conversation of conversations.filter((one) => isObject(one))) {
      const id = String(conversation['id']);
      const path = `/conversations/${encodeURIComponent(id)}/messages?limit=20`;
      const messages = listIn(jsonOf(await api.call({ method: 'GET', path })));
      if (messages === undefined) return undefined;
      texts.push(...messages.filter((message) => message.includes(marker)));
    }
    return texts;
  }

  async function byList(contactId: string, marker: string): Promise<string[] | undefined> {
    if (listUrl === undefined) return undefined;
    const path = listUrl.replaceAll('{contactId}', encodeURIComponent(contactId));
    const response = await api.call({ method: 'GET', path });
    const json = jsonOf(response);
    return isAccepted(response) && json !== undefined ? largestList(json, marker) : undefined;
  }

  return {
    async find(contactId, marker) {
      const started = performance.now();
      for (;;) {
        const conversation = await byConversation(contactId, marker);
        const texts = conversation ?? (await byList(contactId, marker));
        if (texts === undefined) return undefined;
        const isOver = performance.now() - started > READ_LAG_MS;
        if (texts.length > 0 || isOver) return { texts, byService: conversation !== undefined };
        await sleep(POLL_MS, undefined, { signal });
      }
    },
    async status(messageId) {
      const id = encodeURIComponent(messageId);
      const path = statusUrl?.replaceAll('{messageId}', id) ?? `/conversations/messages/${id}`;
      const response = await api.call({ method: 'GET', path });
      return isAccepted(response) ? statusIn(jsonOf(response)) : undefined;
    },
  };
}

/** Returns the texts of a page of messages; the list may be nested in an object of the same name. */
function listIn(page: unknown): string[] | undefined {
  const outer = isObject(page) ? page['messages'] : undefined;
  const items = isObject(outer) ? outer['messages'] : outer;
  if (!Array.isArray(items)) return undefined;
  return items.map((item) => (isObject(item) && typeof item['body'] === 'string' ? item['body'] : ''));
}

/** Returns the strings that contain the marker from the list that has most of them; other lists may hold previews. */
function largestList(json: unknown, marker: string): string[] {
  if (typeof json !== 'object' || json === null) return [];
  const own = Array.isArray(json) ? json.flatMap((item) => textIn(item, marker) ?? []) : [];
  const inner = Object.values(json).map((value) => largestList(value, marker));
  return [own, ...inner].reduce((most, texts) => (texts.length > most.length ? texts : most), []);
}

function textIn(item: unknown, marker: string): string | undefined {
  const values: unknown[] = typeof item === 'object' && item !== null ? Object.values(item) : [item];
  return values.find((value) => typeof value === 'string' && value.includes(marker)) as string | undefined;
}

function statusIn(json: unknown): string | undefined {
  if (!isObject(json)) return undefined;
  const { status } = json;
  if (typeof status === 'string') return status.toLowerCase();
  return statusIn(json['message'] ?? json['data']);
}
