import { useSignal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { call } from '../session.ts';
import { useData } from '../use-data.ts';
import type { Message } from './types.ts';

interface Page {
  readonly messages: readonly Message[];
  readonly cursor: string | null;
}

interface Loaded extends Page {
  readonly path: string;
}

export interface Messages {
  /** Newest first. Undefined: not known yet. */
  readonly messages: readonly Message[] | undefined;
  readonly hasOlder: boolean;
  readonly problem: ReadonlySignal<string | undefined>;
  readonly loadOlder: () => Promise<void>;
}

const MAX_LOADED = 10_000;
const PAGE = 200;

/** The messages that match the filters: the newest page, kept up to date, and as many older ones as were loaded. */
export function useMessages(path: string): Messages {
  const { value, of, problem } = useData<Page>(path, { refresh: true });
  const loaded = useSignal<Loaded | undefined>(undefined);
  const isLoading = useSignal(false);

  useEffect(() => {
    const newest = value.value;
    if (newest === undefined || of.value !== path) return;
    const known = loaded.peek();
    const ids = new Set(newest.messages.map(({ id }) => id));
    // When no known message is on the newest page, messages between the two may be missing.
    const continues = known?.path === path && known.messages.some(({ id }) => ids.has(id));
    loaded.value = continues
      ? { path, messages: merged(known.messages, newest.messages), cursor: known.cursor }
      : { path, ...newest };
  }, [value.value, path]);

  async function loadOlder(): Promise<void> {
    const known = loaded.peek();
    if (isLoading.peek() || known?.path !== path || known.cursor === null) return;
    isLoading.value = true;
    try {
      const cursor = encodeURIComponent(known.cursor);
      const older = await call<Page>('GET', `${path}&limit=${PAGE}&cursor=${cursor}`);
      const now = loaded.peek();
      if (now?.path === path)
        loaded.value = { path, messages: merged(now.messages, older.messages), cursor: older.cursor };
    } catch {
      // The banner reports that the service does not respond; scrolling retries.
    } finally {
      isLoading.value = false;
    }
  }

  const current = loaded.value?.path === path ? loaded.value : undefined;
  return {
    messages: current?.messages,
    hasOlder: current !== undefined && current.cursor !== null && current.messages.length < MAX_LOADED,
    problem,
    loadOlder,
  };
}

/** Newest first, each once, in its newest state. */
function merged(known: readonly Message[], read: readonly Message[]): Message[] {
  const byId = new Map([...known, ...read].map((message) => [message.id, message]));
  return [...byId.values()].sort((one, other) =>
    one.createdAt === other.createdAt ? compare(other.id, one.id) : compare(other.createdAt, one.createdAt),
  );
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
