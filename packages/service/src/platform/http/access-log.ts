import type { Log } from '@footbridge/runtime/log';

/** One response. The route is a template such as `/assets/:id`: paths and queries may contain ids and tokens. */
export interface AccessEntry {
  readonly listener: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly ms: number;
  /** The size of the body; null for a stream. */
  readonly bytes: number | null;
  readonly requestId: string;
}

export type AccessLog = (entry: AccessEntry) => void;

export const createAccessLog =
  (log: Log): AccessLog =>
  ({ ms, ...entry }) =>
    log.info({ event: 'http.served', ...entry, ms: Math.round(ms * 10) / 10 }, 'request served');
