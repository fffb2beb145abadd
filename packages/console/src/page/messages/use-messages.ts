import { requestOf } from '@footbridge/protocol/operator/call';
import type { InputOf, ResponseOf } from '@footbridge/protocol/operator/call';
import { listMessages } from '@footbridge/protocol/operator/messages';
import { batch, useSignal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { call } from '../session.ts';
import { useData } from '../use-data.ts';
import type { Message } from './types.ts';

export type Filters = Omit<InputOf<typeof listMessages>, 'cursor' | 'limit'>;

interface Loaded extends ResponseOf<typeof listMessages> {
  readonly path: string;
}

export interface Messages {
  /** Newest first. Undefined: not known yet. */
  readonly messages: readonly Message[] | undefined;
  /** New messages that are held back; `isMore`: at least this many. */
  readonly held: { readonly count: number; readonly isMore: boolean };
  readonly hasOlder: boolean;
  /** No more can be loaded, although there are older ones. */
  readonly isFull: boolean;
  readonly problem: ReadonlySignal<string | undefined>;
  readonly loadOlder: () => Promise<void>;
}

export const MAX_LOADED = 10_000;
const PAGE = 200;

const NONE = { count: 0, isMore: false };

/**
 * The messages that match the filters: the newest page, kept up to date, and all older ones that were loaded. New ones are held back while
 * the user reads.
 */
export function useMessages(filters: Filters, isReading: ReadonlySignal<boolean>): Messages {
  const { path } = requestOf(listMessages, filters);
  const { value, of, problem } = useData(listMessages, filters, { refresh: true });
  const loaded = useSignal<Loaded | undefined>(undefined);
  const held = useSignal(NONE);
  const isLoading = useSignal(false);

  useEffect(() => {
    const newest = value.value;
    if (newest === undefined || of.value !== path) return;
    const known = loaded.peek();
    const ids = new Set(known?.path === path ? known.messages.map(({ id }) => id) : []);
    const added = newest.messages.filter(({ id }) => !ids.has(id));
    // When no known message is on the newest page, messages between the two may be missing.
    const continues = added.length < newest.messages.length;
    batch(() => {
      held.value = NONE;
      if (known?.path !== path) loaded.value = { path, ...newest };
      else if (isReading.value) {
        const changed = newest.messages.filter(({ id }) => ids.has(id));
        loaded.value = { ...known, messages: merged(known.messages, changed) };
        if (added.length > 0) held.value = { count: added.length, isMore: !continues };
      } else
        loaded.value = continues
          ? { ...known, messages: merged(known.messages, newest.messages) }
          : { path, ...newest };
    });
  }, [value.value, path, isReading.value]);

  async function loadOlder(): Promise<void> {
    const known = loaded.peek();
    if (isLoading.peek() || known?.path !== path || known.cursor === null) return;
    isLoading.value = true;
    try {
      const older = await call(listMessages, { ...filters, limit: PAGE, cursor: known.cursor });
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
  const hasMore = current !== undefined && current.cursor !== null;
  const isFull = hasMore && current.messages.length >= MAX_LOADED;
  return {
    messages: current?.messages,
    held: held.value,
    hasOlder: hasMore && !isFull,
    isFull,
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
