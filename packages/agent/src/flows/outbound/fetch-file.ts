import type { LocalFile } from '../../ports/messages/messages.ts';
import type { Failed } from '../../outcome.ts';

export type FetchFile = () => Promise<LocalFile | Failed>;

/** Memoizes `fetch`: it runs on the first call, and its result, including a failure, is cached. */
export function fetchOnce(fetch: FetchFile): FetchFile {
  let fetched: ReturnType<FetchFile> | undefined;
  return () => (fetched ??= fetch());
}
