import type { Clock } from '@footbridge/runtime/clock';

import type { MessagesFolders } from '../attachment-files.ts';
import { readAudioDuration } from '../audio-duration.ts';
import { MacStore } from './mac-store.ts';
import { watchStore } from './watch-store.ts';
import type { RowGuard, StoredAttachment } from '../messages.ts';
import type { StoreMemory } from '../store-generation.ts';

export interface MacReaderOptions {
  readonly folders: MessagesFolders;
  readonly memory: StoreMemory;
  readonly clock: Clock;
  readonly guard?: RowGuard | undefined;
}

/** Reads the store of Messages on this Mac and watches it. It cannot send. */
export class MacReader {
  readonly store: MacStore;
  readonly #listeners = new Set<() => void>();
  readonly #unwatch: () => void;

  constructor({ folders, memory, clock, guard }: MacReaderOptions) {
    const store = new MacStore(folders, memory, guard);
    this.store = store;
    this.#unwatch = watchStore({
      folder: folders.messages,
      clock,
      refresh: () => store.refresh(),
      onChange: () => {
        for (const listener of this.#listeners) listener();
      },
    });
  }

  /** Calls the listener when the store may have new rows. Returns an unsubscribe function. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Messages does not store the duration: it is read from the file. */
  audioDuration({ path, state }: StoredAttachment): number | undefined {
    return state === 'ready' && path !== undefined ? readAudioDuration(path) : undefined;
  }

  close(): void {
    this.#unwatch();
    this.#listeners.clear();
    this.store.close();
  }
}
