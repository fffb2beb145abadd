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
