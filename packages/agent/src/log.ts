import { pino } from 'pino';
import type { DestinationStream } from 'pino';

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

/** Writes JSON lines to standard output, or to `destination`. */
export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: { service: 'footbridge-agent' },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

export const silentLog: Log = pino({ level: 'silent' });

/** Keeps the type, message and code of an error and its causes, and five stack frames. Other properties may hold message data. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
    stack: error.stack?.split('\n').slice(1, 6).join('\n'),
  };
}
