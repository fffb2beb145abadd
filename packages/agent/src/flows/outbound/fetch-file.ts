import type { LocalFile } from '../../ports/messages/messages.ts';
import type { Failed } from './outcome.ts';

export type FetchFile = () => Promise<LocalFile | Failed>;

/** Calls `fetch` at the first call only. Later calls return the same file, or the same failure. */
export function fetchOnce(fetch: FetchFile): FetchFile {
  let fetched: ReturnType<FetchFile> | undefined;
  return () => (fetched ??= fetch());
}
