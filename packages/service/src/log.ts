import pino from 'pino';

/** What the parts of the service need of a logger. Fields are ids, codes, counts and times: never text, numbers, tokens or keys. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

// A second net only: no call passes these on purpose.
const NEVER = [
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
];

export function createLogger(level: string, destination?: { write(line: string): void }): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: NEVER.flatMap((name) => [name, `*.${name}`]), censor: '[hidden]' },
      serializers: { err: describeError },
    },
    destination ?? pino.destination({ sync: false, minLength: 0 }),
  );
}

/** Name, code and message of an error and its causes. Stacks stay out: their frames say nothing an operator can act on. */
export function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: 'not an error object' };
  const { cause } = error;
  return {
    name: error.name,
    message: error.message.slice(0, 500),
    ...('code' in error && { code: error.code }),
    ...(cause !== undefined && { cause: describeError(cause) }),
  };
}
