import { computed, signal } from '@preact/signals';

import type { About, Exchange, Inbox, Phone } from './shapes.ts';

/** What the server tells, and nothing else: the panes are drawn from these. */
export const about = signal<About | undefined>(undefined);
export const phone = signal<Phone | undefined>(undefined);
export const inbox = signal<Inbox>({ messages: [], statuses: [], webhooks: [] });
export const isLive = signal(false);

const MOST_ROWS = 400;
const entries = signal<ReadonlyMap<number, Exchange>>(new Map());
export const wire = computed(() => [...entries.value.values()]);

/** By the CRM's message id: the guid under which the Mac sent it, as the Mac itself reported. */
export const sentGuids = signal<ReadonlyMap<string, string>>(new Map());

export function startListening(): void {
  const source = new EventSource('./events');
  source.addEventListener('open', begin);
  source.addEventListener('error', () => (isLive.value = false));
  source.addEventListener('wire', ({ data }) => note(JSON.parse(data)));
  source.addEventListener('phone', ({ data }) => (phone.value = JSON.parse(data)));
  source.addEventListener('inbox', ({ data }) => (inbox.value = JSON.parse(data)));
}

/** The server tells everything from the beginning; after a restart it is another beginning. */
function begin(): void {
  isLive.value = true;
  waiting = [];
  entries.value = new Map();
  sentGuids.value = new Map();
  void fetch('./about')
    .then((answer) => answer.json())
    .then((said: About) => (about.value = said))
    // Gone again already; the next beginning asks anew.
    .catch(() => undefined);
}

/** Entries come in bursts: they are drawn once per frame. */
let waiting: Exchange[] = [];

function note(entry: Exchange): void {
  if (waiting.length === 0) setTimeout(flush, 16);
  waiting.push(entry);
}

function flush(): void {
  const next = new Map(entries.value);
  const guids = new Map(sentGuids.value);
  for (const entry of waiting) {
    next.set(entry.n, entry);
    const sent = readGuid(entry);
    if (sent !== undefined) guids.set(sent.messageId, sent.guid);
  }
  for (const n of next.keys()) {
    if (next.size <= MOST_ROWS) break;
    next.delete(n);
  }
  waiting = [];
  entries.value = next;
  if (guids.size !== sentGuids.value.size) sentGuids.value = guids;
}

function readGuid(entry: Exchange): { messageId: string; guid: string } | undefined {
  if (entry.kind !== 'frame' || entry.type !== 'message_status') return undefined;
  const { messageId, guid }: Record<string, unknown> = JSON.parse(entry.text);
  return typeof messageId === 'string' && typeof guid === 'string' ? { messageId, guid } : undefined;
}
