import type { LocalFile } from '../../ports/messages/messages.ts';
import type { Failed } from './outcome.ts';

/** Fetches a file at the first call. Later calls return the same file. */
export type FetchFile = () => Promise<LocalFile | Failed>;

export function fetchOnce(fetch: FetchFile): FetchFile {
  let fetched: ReturnType<FetchFile> | undefined;
  return () => (fetched ??= fetch());
}
