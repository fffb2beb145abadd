/** How the command ended, for scripts. Documented and stable. */
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

/** What was asked for did not happen. Says what happened and, where there is one, the next step. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: number;
  readonly next: string | undefined;
  /** The service's code, when it gave one. */
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
