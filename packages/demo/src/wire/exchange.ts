/** The sender and the receiver of an exchange. */
export type Leg = 'crm→service' | 'service→crm' | 'mac→service' | 'service→mac';

export interface HttpExchange {
  readonly kind: 'http';
  readonly n: number;
  readonly at: number;
  readonly leg: Leg;
  readonly method: string;
  readonly path: string;
  /** In the original order, with secrets masked. */
  readonly requestHeaders: readonly (readonly [string, string])[];
  readonly requestBody: string;
  /** The size of the original body. `requestBody` may be truncated. */
  readonly requestBytes: number;
  /** Undefined while the response is pending, null if there is none. */
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
  /** The number of the connection. */
  readonly link: number;
  /** The frame's type, or `close`. */
  readonly type: string;
  readonly text: string;
}

/** Not traffic, but its cause: a process was killed or started. */
export interface ProcessEvent {
  readonly kind: 'event';
  readonly n: number;
  readonly at: number;
  readonly tone: 'good' | 'bad';
  readonly title: string;
  readonly text: string;
}

export type CallOrFrame = HttpExchange | FrameExchange;
export type Exchange = CallOrFrame | ProcessEvent;

const SECRETS = /^(authorization|cookie|set-cookie)$/i;

/** Returns header pairs with secrets masked after four characters. */
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

/** The recorded traffic in order, up to `maxEntries`, with subscriptions. */
export class WireLog {
  readonly #entries: Exchange[] = [];
  readonly #subscribers = new Set<(entry: Exchange) => void>();
  readonly #maxEntries: number;
  #count = 0;

  constructor(maxEntries = 2000) {
    this.#maxEntries = maxEntries;
  }

  next(): number {
    return ++this.#count;
  }

  add(entry: Exchange): void {
    this.#entries.push(entry);
    if (this.#entries.length > this.#maxEntries) this.#entries.shift();
    this.changed(entry);
  }

  /** Notifies the subscribers of a new or changed entry. */
  changed(entry: Exchange): void {
    for (const subscriber of this.#subscribers) subscriber(entry);
  }

  get entries(): readonly Exchange[] {
    return this.#entries;
  }

  subscribe(subscriber: (entry: Exchange) => void): () => void {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }
}
