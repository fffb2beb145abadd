import { computed, signal } from '@preact/signals';

import type { About, Exchange, Inbox, Phone, ScenarioState } from './types.ts';

/** The state of the page as received from the server. */
export const about = signal<About | undefined>(undefined);
export const phone = signal<Phone | undefined>(undefined);
export const inbox = signal<Inbox>({ messages: [], statuses: [], webhooks: [] });
export const scenarioState = signal<ScenarioState | undefined>(undefined);
export const isLive = signal(false);

const MAX_ROWS = 1000;
const entries = signal<ReadonlyMap<number, Exchange>>(new Map());
export const wire = computed(() => [...entries.value.values()]);

export function startListening(): void {
  const source = new EventSource('./events');
  source.addEventListener('open', reset);
  source.addEventListener('error', () => (isLive.value = false));
  source.addEventListener('wire', ({ data }) => addEntry(JSON.parse(data)));
  source.addEventListener('phone', ({ data }) => (phone.value = JSON.parse(data)));
  source.addEventListener('inbox', ({ data }) => (inbox.value = JSON.parse(data)));
  source.addEventListener('scenarios', ({ data }) => (scenarioState.value = JSON.parse(data)));
}

/** On every connection the server sends the complete state, so the page starts over. */
function reset(): void {
  isLive.value = true;
  pending = [];
  entries.value = new Map();
  void fetch('./about')
    .then((response) => response.json())
    .then((body: About) => (about.value = body))
    // The connection is already lost again; the next one retries.
    .catch(() => undefined);
}

/** Entries arrive in bursts and are rendered once per frame. */
let pending: Exchange[] = [];

function addEntry(entry: Exchange): void {
  if (pending.length === 0) setTimeout(flush, 16);
  pending.push(entry);
}

function flush(): void {
  const next = new Map(entries.value);
  for (const entry of pending) next.set(entry.n, entry);
  for (const n of next.keys()) {
    if (next.size <= MAX_ROWS) break;
    next.delete(n);
  }
  pending = [];
  entries.value = next;
}
