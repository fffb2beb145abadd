/** Who talks to whom, as the page draws it. */
export type Leg = 'crm→service' | 'service→crm' | 'mac→service' | 'service→mac';

export interface HttpExchange {
  readonly kind: 'http';
  readonly n: number;
  readonly at: number;
  readonly leg: Leg;
  readonly method: string;
  readonly path: string;
  /** As sent, in order; secrets masked. */
  readonly requestHeaders: readonly (readonly [string, string])[];
  readonly requestBody: string;
  /** Of the body as it crossed the wire; more than is shown when it is long, or not text. */
  readonly requestBytes: number;
  /** Undefined while no answer has come; null when none ever will. */
  status: number | null | undefined;
  answerHeaders: readonly (readonly [string, string])[];
  answerBody: string;
  answerBytes: number;
  ms: number | undefined;
}

interface FrameExchange {
  readonly kind: 'frame';
  readonly n: number;
  readonly at: number;
  readonly leg: Leg;
  /** The frame's type, or `close`. */
  readonly type: string;
  readonly text: string;
}

export type Exchange = HttpExchange | FrameExchange;

const SECRETS = /^(authorization|cookie|set-cookie)$/i;

/** Header pairs for the page: a token shows only that it is there. */
export function maskedHeaders(raw: readonly string[]): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? '';
    const value = raw[index + 1] ?? '';
    pairs.push([name, SECRETS.test(name) ? value.replace(/^((?:Bearer )?.{4}).+$/, '$1…') : value]);
  }
  return pairs;
}

const SECRET_FIELDS =
  /("(?:access_token|refresh_token|deviceToken|licenseKey|client_secret)"\s*:\s*")[^"]*|((?:client_secret|refresh_token|code)=)[^&]*/g;

export const maskedBody = (body: string): string =>
  body.replaceAll(SECRET_FIELDS, (_whole, json?: string, form?: string) => `${json ?? form ?? ''}…`);

/** Everything that crossed the wire, in order, and who wants to hear of it. Keeps the last `most`. */
export class WireLog {
  readonly #entries: Exchange[] = [];
  readonly #listeners = new Set<(entry: Exchange) => void>();
  readonly #most: number;
  #count = 0;

  constructor(most = 2000) {
    this.#most = most;
  }

  next(): number {
    return ++this.#count;
  }

  add(entry: Exchange): void {
    this.#entries.push(entry);
    if (this.#entries.length > this.#most) this.#entries.shift();
    this.changed(entry);
  }

  /** An entry got its answer. */
  changed(entry: Exchange): void {
    for (const listener of this.#listeners) listener(entry);
  }

  get entries(): readonly Exchange[] {
    return this.#entries;
  }

  listen(listener: (entry: Exchange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
