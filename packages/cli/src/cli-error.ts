/** Exit codes. Scripts depend on them: they are documented (docs/cli.md) and stable. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  configuration: 3,
  notAuthorised: 4,
  notFound: 5,
  rateLimited: 6,
  unreachable: 7,
  timedOut: 8,
  checkFailed: 9,
  bug: 70,
  interrupted: 130,
} as const;

export type ExitName = keyof typeof EXIT;

/** What each exit code means, for docs/cli.md. */
export const EXIT_MEANINGS: Readonly<Record<ExitName, string>> = {
  done: 'done',
  failed: 'the command failed',
  usage: 'usage error: an unknown command or option, or a missing or invalid value',
  configuration:
    'the settings are invalid or incomplete: no operator token, an invalid address, an unknown profile',
  notAuthorised: 'not authorised: the token, the signature or the backup key was rejected (401, 403)',
  notFound: 'not found or not connected (404)',
  rateLimited: 'too many requests (429); the error says how long to wait',
  unreachable: 'the service or the database cannot be reached, or failed (5xx)',
  timedOut: 'timed out, for example `--wait` before the outcome was known',
  checkFailed:
    '`doctor`, `crm check`, `conformance` or `config check` found a failure, or `migrate --check` found pending changes',
  bug: 'a bug in footbridge',
  interrupted: 'interrupted with Ctrl-C',
};

/** An error to show to the user: what happened and, if known, what to do next. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  readonly next: string | undefined;
  /** The code of the service's error response. */
  readonly code: string | undefined;

  constructor(
    message: string,
    options: {
      exitCode?: number;
      next?: string | undefined;
      code?: string | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.exitCode = options.exitCode ?? EXIT.failed;
    this.next = options.next;
    this.code = options.code;
  }
}

/** A usage error: one line, exit code 2. */
export const usageError = (message: string, cause?: unknown): CliError =>
  new CliError(message, { exitCode: EXIT.usage, cause });

/** Ends a command with an exit code after it has printed its result. */
export class ExitError extends Error {
  override readonly name = 'ExitError';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit code ${exitCode}`);
    this.exitCode = exitCode;
  }
}
