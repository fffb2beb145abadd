import { codeEntry } from '@footbridge/protocol/codes';

/**
 * A request that cannot be served, with a code of the catalogue. Rendered in one place (`edges/http/render-error.ts`);
 * `details` become fields of the JSON body and must hold nothing the caller did not already know.
 */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly code: string;
  readonly status: number;
  readonly label: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: string,
    details: Record<string, unknown> = {},
    options: { status?: number; label?: string; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    const entry = codeEntry(code);
    const label = options.label ?? entry?.label ?? inWords(code);
    super(label, { cause: options.cause });
    this.code = code;
    this.status = options.status ?? entry?.http ?? 500;
    this.label = label;
    this.details = details;
    this.headers = options.headers ?? {};
  }
}

/** `NOT_FOUND` → `Not found` */
const inWords = (code: string) => code.charAt(0) + code.slice(1).toLowerCase().replaceAll('_', ' ');

/** An engine (Redis, PostgreSQL, disk) did not do its part. Never to be read as an answer such as "not connected". */
export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly engine: string;

  constructor(engine: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.engine = engine;
  }
}

/** The start cannot go on. One line per fault is printed, without a stack; the exit code is `exitCode`. */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly faults: readonly string[];
  readonly exitCode: number;

  constructor(faults: readonly string[], exitCode = 1, cause?: unknown) {
    super(faults.join('\n'), { cause });
    this.faults = faults;
    this.exitCode = exitCode;
  }
}
