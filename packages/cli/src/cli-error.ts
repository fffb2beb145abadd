/** Exit codes. Scripts depend on them: they are documented and stable. */
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
} as const;

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
