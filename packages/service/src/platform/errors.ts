import { codeEntry } from '@footbridge/protocol/codes';
import type { Channel } from '@footbridge/protocol/codes';

export interface RequestErrorOptions {
  /** Which part of the catalogue the code belongs to, where several parts have it. */
  readonly channel?: Channel;
  readonly status?: number;
  readonly label?: string;
  readonly retryAfterSec?: number;
  readonly headers?: Record<string, string>;
  readonly cause?: unknown;
}

/**
 * A request that cannot be served, with a code of the catalogue. `edges/http/error-response.ts` renders it.
 * `details` become fields of the JSON body and must not contain anything that the caller does not know already.
 */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly code: string;
  readonly status: number;
  readonly label: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryAfterSec: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: string, details: Record<string, unknown> = {}, options: RequestErrorOptions = {}) {
    const { channel, retryAfterSec, headers = {}, cause } = options;
    const entry = codeEntry(code, channel);
    const label =
      options.label ??
      entry?.label ??
      (channel === undefined ? inWords(code) : (entry?.meaning ?? inWords(code)));
    super(label, { cause });
    this.code = code;
    this.status = options.status ?? entry?.http ?? 500;
    this.label = label;
    this.details = details;
    this.retryAfterSec = retryAfterSec;
    this.headers = headers;
  }
}

/** `NOT_FOUND` → `Not found` */
const inWords = (code: string) => code.charAt(0) + code.slice(1).toLowerCase().replaceAll('_', ' ');

/** An engine (Redis, PostgreSQL, disk) failed. Never to be treated as a result such as "not connected". */
export class EngineError extends Error {
  override readonly name: string = 'EngineError';
  readonly engine: string;

  constructor(engine: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.engine = engine;
  }
}

/** The service cannot start. `main` prints one line per problem, without a stack, and exits with `exitCode`. */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly problems: readonly string[];
  readonly exitCode: number;

  constructor(problems: readonly string[], exitCode = 1, cause?: unknown) {
    super(problems.join('\n'), { cause });
    this.problems = problems;
    this.exitCode = exitCode;
  }
}

/** The codes of an exhausted disk, quota or file size limit. 53100 is PostgreSQL's `disk_full`. */
const FULL = new Set<unknown>(['ENOSPC', 'EDQUOT', 'EFBIG', '53100']);
/** SQLite reports a failed write as an I/O error unless the disk is full. */
const SQLITE_FULL = /database or disk is full|disk I\/O error/;

/** Returns whether a write failed for lack of space. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && (('code' in error && FULL.has(error.code)) || SQLITE_FULL.test(error.message));
