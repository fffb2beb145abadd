import pino from 'pino';

import { BackgroundOutput } from './background-output.ts';

/** Fields are ids, codes, counts and times: never a message text, a phone number, a token or a key. */
export interface LogFields {
  /** A stable name for alerts and searches: `area.what_happened`. */
  readonly event: string;
  readonly [name: string]: unknown;
}

type Write = (fields: LogFields, message: string) => void;

export interface Log {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

// Defence in depth: no call passes these on purpose.
const HIDDEN_FIELDS: ReadonlySet<string> = new Set([
  'authorization',
  'token',
  'accessToken',
  'refreshToken',
  'access_token',
  'refresh_token',
  'licenseKey',
  'secret',
  'phone',
  'text',
  'body',
  'sender',
  'recipients',
]);
const HIDDEN = '[hidden]';

export interface LogOptions {
  /** Written to every line as `service`. */
  readonly service?: string;
  /** Writes each line before the call returns. Otherwise lines are written in the background, and dropped while the buffer is full. */
  readonly sync?: boolean;
  /** Receives the lines instead of standard output. */
  readonly destination?: { write(line: string): void };
}

/** The size of the buffer for a slow reader of standard output, in bytes: about 30,000 lines. */
const MAX_UNWRITTEN = 8 * 1_048_576;

/** Returns a log that writes one JSON object per line. */
export function createLog(level: string, options: LogOptions = {}): Log {
  const { service, sync = false, destination } = options;
  if (destination !== undefined) return logTo(destination, level, service);
  if (sync) return createSyncLog(level, service);
  const output = new BackgroundOutput({
    fd: process.stdout.fd,
    maxBytes: MAX_UNWRITTEN,
    onDropped: (lines) => reportDropped(log, lines),
  });
  const log = logTo(output, level, service);
  return log;
}

function createSyncLog(level: string, service: string | undefined): Log {
  let dropped = 0;
  const output = pino
    .destination({ sync: true, maxLength: MAX_UNWRITTEN })
    // Without a listener, a failed write would end the process. Unwritten lines stay buffered, up to this limit.
    .on('error', () => {})
    .on('drop', () => {
      dropped++;
      // A line that does not fit into the buffer does not cause a write by itself.
      output.write('');
    })
    .on('drain', reportOnce);
  const log = logTo(output, level, service);
  process.once('exit', () => {
    // Writes the buffered lines. Not `flushSync`, which retries forever while the disk is full.
    output.write('');
    reportOnce();
  });
  return log;

  function reportOnce(): void {
    const lines = dropped;
    dropped = 0;
    if (lines > 0) reportDropped(log, lines);
  }
}

function reportDropped(log: Log, lines: number): void {
  log.warn({ event: 'log.lines_dropped', lines }, 'log lines dropped, standard output did not accept them');
}

function logTo(destination: pino.DestinationStream, level: string, service: string | undefined): Log {
  return pino(
    {
      level,
      base: service === undefined ? null : { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      // Not pino's `redact`, which evaluates every path for every line and costs four times as much as the rest of the line.
      formatters: { level: (label) => ({ level: label }), log: (fields) => hideFields(fields) },
      serializers: { err: describeError },
    },
    destination,
  );
}

/** Replaces values that must not be logged, at the top level and one level below. `describeError` selects the fields of an error. */
function hideFields(
  fields: Readonly<Record<string, unknown>>,
  shownValue: (value: unknown) => unknown = hideNested,
): Record<string, unknown> {
  let shown: Record<string, unknown> = fields;
  for (const name in fields) {
    const value = HIDDEN_FIELDS.has(name) ? HIDDEN : shownValue(fields[name]);
    if (value === fields[name]) continue;
    // Copied on the first change: `fields` belongs to the caller.
    if (shown === fields) shown = { ...fields };
    shown[name] = value;
  }
  return shown;
}

function hideNested(value: unknown): unknown {
  const isNested = typeof value === 'object' && value !== null;
  if (!isNested || Array.isArray(value) || value instanceof Error) return value;
  return hideFields({ ...value }, (inner) => inner);
}

const MAX_FRAMES = 8;
const ROOT = new URL('../../../', import.meta.url).href;

/**
 * Name, code, message and causes of an error. An unexpected error also has stack frames; expected failures of engines and requests
 * are classes with a `name` of their own, and their message says enough.
 */
export function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: 'not an error object' };
  const { cause } = error;
  return {
    name: error.name,
    message: error.message.slice(0, 500),
    ...('code' in error && { code: error.code }),
    ...(isUnexpected(error) && { stack: framesOf(error) }),
    ...(cause !== undefined && { cause: describeError(cause) }),
  };
}

/** Errors of the language itself are bugs: a TypeError, a RangeError, or a plain Error that no caller classified. */
const isUnexpected = (error: Error): boolean =>
  !('code' in error) &&
  /^(Error|TypeError|RangeError|ReferenceError|SyntaxError|EvalError|URIError)$/.test(error.name);

/** `function (file:line:column)`, with paths relative to the installation. The message is left out: it may be many lines long. */
function framesOf({ stack = '' }: Error): string[] {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return frames.slice(0, MAX_FRAMES).map((line) => line.trim().slice(3).replace(ROOT, ''));
}
