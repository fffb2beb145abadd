import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';

import type { Clock } from '@footbridge/runtime/clock';

export interface WatchOptions {
  /** The folder of the store. Watched as a whole, because Messages removes and creates the write-ahead log. */
  readonly folder: string;
  readonly clock: Clock;
  /** Opens the store again if needed, and returns whether its content may have changed. */
  readonly refresh: () => boolean;
  readonly onChange: () => void;
}

const DEBOUNCE_MS = 100;
const POLL_MS = 2_000;
/** A longer gap between two polls means that the Mac slept and its events are lost. */
const WAKE_MS = 10_000;

/**
 * Calls `onChange` when the store may have new rows: after events of its folder, and after polls, because macOS stops sending events after
 * some sleeps. Returns a function that stops watching.
 */
export function watchStore({ folder, clock, refresh, onChange }: WatchOptions): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;
  let watcher: FSWatcher | undefined;
  let isAnnounced = false;

  async function announce(): Promise<void> {
    if (isAnnounced) return;
    isAnnounced = true;
    await clock.sleep(DEBOUNCE_MS, signal);
    isAnnounced = false;
    if (signal.aborted) return;
    hasChanged();
    onChange();
  }

  /** Whether the store may have changed. A failure counts as a change, because the reader of the store fails in the same way and reports it. */
  function hasChanged(): boolean {
    try {
      return refresh();
    } catch {
      return true;
    }
  }

  function arm(): void {
    try {
      watcher ??= watch(folder, (_, name) => {
        if (name === null || name.startsWith('chat.db')) void announce();
      }).on('error', disarm);
    } catch {
      // The folder is absent or denied. The next poll tries again.
    }
  }

  function disarm(): void {
    watcher?.close();
    watcher = undefined;
  }

  async function poll(): Promise<void> {
    while (!signal.aborted) {
      arm();
      const before = clock.now();
      await clock.sleep(POLL_MS, signal);
      if (signal.aborted) return;
      const hasSlept = clock.now() - before > WAKE_MS;
      if (hasSlept) disarm();
      if (hasChanged() || hasSlept) onChange();
    }
  }

  void poll();
  return () => {
    stopping.abort();
    disarm();
  };
}
