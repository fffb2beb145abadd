import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';

/** What the agent's parts write to. Never a message text, a phone number, a token or a key. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

/** JSON lines; `destination` is standard output unless a test reads along. */
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

/** Messages of foreign errors may quote what they choked on: only our own message and the codes below it are kept. */
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
