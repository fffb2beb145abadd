import type { Clock } from '../../clock.ts';
import { presentable, readJson, textsIn, wordsOf } from './crm-reason.ts';
import { Gates } from './gate.ts';
import type { Gate } from './gate.ts';
import { judgeRefusal } from './judge-refusal.ts';
import type { HttpRequest, HttpResponse, Transport } from './transport.ts';

/** What opens the CRM's doors for one location. */
export interface Bearer {
  readonly authorization: string;
}

/** `none`: nobody authorised us. `reauth_required`: the grant is dead. `away`: the store or the token endpoint does not answer. */
export type NoBearer = { readonly missing: 'none' | 'reauth_required' | 'away' };

/** `oauth`: the app's own token or nothing. `any`: a private integration token will do when OAuth is not in use. */
export type BearerKind = 'oauth' | 'any';

export interface Bearers {
  bearer(locationId: string, kind: BearerKind): Bearer | NoBearer | Promise<Bearer | NoBearer>;
  /** The CRM refused this one. Answers with a newer one, or says that there is none. */
  renew(locationId: string, kind: BearerKind, refused: Bearer): Promise<Bearer | NoBearer>;
}

/** Why a call did not get through yet. */
export interface Setback {
  readonly cause:
    | NoBearer['missing']
    | 'token_refused'
    | 'not_yet'
    | 'network'
    | 'timeout'
    | 'http'
    | 'empty'
    | 'circuit'
    | 'crowded';
  /** The HTTP status, 0 without an answer. */
  readonly status: number;
  readonly reason: string;
  readonly attempts: number;
  readonly sinceMs: number;
  /** The CRM may have acted on a request whose answer did not reach us. */
  readonly inDoubt: boolean;
  /** Other calls for this location went well since this one began: the trouble is this call's own. */
  readonly othersPass: boolean;
}

/** How long the caller cares. */
export interface Patience {
  /**
   * Asked before every attempt, and after a setback before anything else; false ends the call as `unwanted`.
   * `renewed`: the attempt repeats one whose token had expired, and is part of it.
   */
  wanted(renewed: boolean): boolean;
  /** Asked after a setback: is it worth another attempt? */
  again(setback: Setback): boolean;
  /**
   * Asked once per attempt, right before it goes out: may the caller still act? Without an answer (it rejects) nothing is sent and it
   * is asked again later.
   */
  confirmed?(): boolean | Promise<boolean>;
  /** Nothing is in the way any more: the attempt goes out now. */
  attempting?(): void;
  /** The call waits for its next attempt or its turn; `wake` makes it ask `wanted` at once. */
  waiting?(wake: () => void): void;
}

export interface Call {
  /** For metrics. */
  readonly operation: 'status' | 'inbound' | 'find_contact' | 'create_contact' | 'read_contact' | 'upload';
  readonly locationId: string;
  readonly bearer: BearerKind;
  readonly method: HttpRequest['method'];
  readonly path: string;
  readonly body?: string | Buffer;
  /** Of the body, when it is not JSON. */
  readonly contentType?: string;
  readonly idempotencyKey?: string;
  readonly wantsBody?: boolean;
  readonly timeoutMs?: number;
  /** Somebody waits for the answer: goes before all that can wait. */
  readonly isUrgent?: boolean;
  /** Reads the body of a 2xx; undefined when it does not say that the CRM did what was asked. */
  readonly read?: (text: string) => string | undefined;
}

export type CallOutcome =
  /** `text` is the body, or what `read` made of it. `inDoubt`: an earlier attempt got no answer, so the CRM may have acted twice. */
  | { readonly kind: 'ok'; readonly status: number; readonly text: string; readonly inDoubt: boolean }
  /** The CRM refused for good. */
  | { readonly kind: 'refused'; readonly status: number; readonly reason: string; readonly text: string }
  | { readonly kind: 'given_up'; readonly setback: Setback }
  | { readonly kind: 'unwanted' };

/**
 * Calls to the CRM by the house's rules: a bearer and `Version` on each, at most 90 in ten seconds and location, retries with backoff
 * and jitter for what may pass, one refresh for a spent token, a circuit per location. Never rejects.
 */
export interface CrmClient {
  call(call: Call, patience: Patience): Promise<CallOutcome>;
}

export interface CrmClientOptions {
  readonly transport: Transport;
  readonly host: string;
  readonly bearers: Bearers;
  readonly clock: Clock;
  readonly callsPer10Sec?: number;
  readonly random?: () => number;
  readonly observe?: (operation: Call['operation'], status: string, seconds: number) => void;
}

const VERSION = '2021-07-28';
const JSON_TYPE = 'application/json';
const NOT_YET_MS = [2000, 4000, 8000, 16_000];
const LAST_NOT_YET_MS = 30_000;
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 30_000;
/** Calls of one location that may stand in line for their turn; urgent ones are few, and always may. */
const CROWD = 500;
const UNWANTED: CallOutcome = { kind: 'unwanted' };
const CIRCUIT_OPEN = { cause: 'circuit', status: 0, reason: 'the CRM failed 20 times in a row' } as const;
const ENGINE_AWAY: Trouble = { cause: 'away', status: 0, reason: 'away', waitMs: 500 };
const CROWDED: Trouble = { cause: 'crowded', status: 0, reason: 'too many calls wait already', waitMs: 1000 };

export function createCrmClient(options: CrmClientOptions): CrmClient {
  return new HttpCrmClient(options);
}

type Trouble = Pick<Setback, 'cause' | 'status' | 'reason'> & { readonly waitMs?: number | undefined };

/** What one call went through so far. */
interface Story {
  readonly gate: Gate;
  readonly began: number;
  attempts: number;
  inDoubt: boolean;
  /** The bearer of the next attempt, when a refused one was renewed for it. */
  renewed: Bearer | undefined;
}

class HttpCrmClient implements CrmClient {
  readonly #transport: Transport;
  readonly #origin: string;
  readonly #prefix: string;
  readonly #bearers: Bearers;
  readonly #clock: Clock;
  readonly #gates: Gates;
  readonly #random: () => number;
  readonly #observe: CrmClientOptions['observe'];
  /** The header list of a bearer, built once. */
  readonly #jsonHeaders = new WeakMap<Bearer, string[]>();

  constructor(options: CrmClientOptions) {
    const host = new URL(options.host);
    this.#transport = options.transport;
    this.#origin = host.origin;
    this.#prefix = host.pathname.replace(/\/$/, '');
    this.#bearers = options.bearers;
    this.#clock = options.clock;
    this.#gates = new Gates(options.clock, options.callsPer10Sec ?? 90);
    this.#random = options.random ?? Math.random;
    this.#observe = options.observe;
  }

  async call(call: Call, patience: Patience): Promise<CallOutcome> {
    const gate = this.#gates.of(call.locationId);
    const began = this.#clock.monotonic();
    const story: Story = { gate, began, attempts: 0, inDoubt: false, renewed: undefined };
    for (;;) {
      if (!patience.wanted(story.renewed !== undefined)) return UNWANTED;
      const result = await this.#attempt(call, patience, story);
      if (result === 'ask_again') continue;
      if ('kind' in result) return result;
      if (!patience.wanted(false)) return UNWANTED;
      const setback = describe(result, story, this.#clock.monotonic());
      if (!patience.again(setback)) return { kind: 'given_up', setback };
      await this.#wait(result.waitMs ?? this.#backoff(story.attempts), patience);
    }
  }

  async #attempt(call: Call, patience: Patience, story: Story): Promise<CallOutcome | Trouble | 'ask_again'> {
    const { gate } = story;
    const held = story.renewed ?? this.#bearers.bearer(call.locationId, call.bearer);
    const bearer = held instanceof Promise ? await held : held;
    if ('missing' in bearer) return { cause: bearer.missing, status: 0, reason: bearer.missing };
    const blockedMs = gate.blockedMs();
    if (blockedMs > 0) return { ...CIRCUIT_OPEN, waitMs: blockedMs };
    const { isUrgent = false } = call;
    if (!gate.tryEnter(isUrgent)) {
      if (gate.queued >= CROWD && !isUrgent) return CROWDED;
      const myTurn = await this.#turn(gate, patience, isUrgent);
      if (!myTurn || !patience.wanted(story.renewed !== undefined) || gate.blockedMs() > 0)
        return 'ask_again';
    }
    const wasRenewed = story.renewed !== undefined;
    // On a node that is alone there is nobody to ask, and nothing to wait for.
    const standing = patience.confirmed?.() ?? true;
    if (standing !== true) {
      const confirmed = await Promise.resolve(standing).catch(() => undefined);
      if (confirmed === undefined) return ENGINE_AWAY;
      if (!confirmed) return UNWANTED;
      if (!patience.wanted(wasRenewed)) return 'ask_again';
    }
    patience.attempting?.();
    story.renewed = undefined;
    story.attempts++;
    gate.begin();
    const sentAt = this.#clock.monotonic();
    const answer = await this.#transport.send(this.#request(call, bearer));
    const tookSec = (this.#clock.monotonic() - sentAt) / 1000;
    if ('reason' in answer) {
      this.#observe?.(call.operation, answer.reason, tookSec);
      gate.failed();
      story.inDoubt ||= answer.sent;
      return { cause: answer.reason === 'timeout' ? 'timeout' : 'network', status: 0, reason: answer.reason };
    }
    this.#observe?.(call.operation, String(answer.status), tookSec);
    if (answer.status >= 200 && answer.status < 300) {
      gate.succeeded();
      const { status } = answer;
      const text = call.read === undefined ? answer.text : call.read(answer.text);
      if (text === undefined)
        return { cause: 'empty', status, reason: 'the answer does not say that it was stored' };
      return { kind: 'ok', status, text, inDoubt: story.inDoubt };
    }
    return this.#refused(call, bearer, story, answer, wasRenewed);
  }

  async #refused(
    call: Call,
    bearer: Bearer,
    story: Story,
    answer: HttpResponse,
    wasRenewed: boolean,
  ): Promise<CallOutcome | Trouble | 'ask_again'> {
    const { status, text } = answer;
    const words = wordsOf(readJson(text));
    const judgement = judgeRefusal(answer, words, this.#clock.now());
    const reason = presentable(words, [bearer.authorization.slice(7), ...sentTexts(call)]);
    if (judgement.kind === 'later' && status !== 429) story.gate.failed();
    else story.gate.answered();
    if (judgement.kind === 'refused') return { kind: 'refused', status, reason, text };
    if (judgement.kind === 'not_yet')
      return { cause: 'not_yet', status, reason, waitMs: NOT_YET_MS[story.attempts - 1] ?? LAST_NOT_YET_MS };
    if (judgement.kind === 'later') {
      if (status === 429) story.gate.pause(judgement.waitMs ?? 0);
      return { cause: 'http', status, reason, waitMs: judgement.waitMs };
    }
    if (wasRenewed) return { cause: 'token_refused', status, reason };
    const fresh = await this.#bearers.renew(call.locationId, call.bearer, bearer);
    if ('missing' in fresh) return { cause: fresh.missing, status, reason };
    story.renewed = fresh;
    return 'ask_again';
  }

  #request(call: Call, bearer: Bearer): HttpRequest {
    return {
      origin: this.#origin,
      method: call.method,
      path: this.#prefix + call.path,
      headers: this.#headers(call, bearer),
      body: call.body,
      wantsBody: call.wantsBody ?? call.read !== undefined,
      timeoutMs: call.timeoutMs,
    };
  }

  #headers({ body, contentType, idempotencyKey }: Call, bearer: Bearer): string[] {
    const isJson = body !== undefined && contentType === undefined && idempotencyKey === undefined;
    const known = isJson ? this.#jsonHeaders.get(bearer) : undefined;
    if (known !== undefined) return known;
    const headers = ['authorization', bearer.authorization, 'version', VERSION, 'accept', JSON_TYPE];
    if (body !== undefined) headers.push('content-type', contentType ?? JSON_TYPE);
    if (idempotencyKey !== undefined) headers.push('idempotency-key', idempotencyKey);
    if (isJson) this.#jsonHeaders.set(bearer, headers);
    return headers;
  }

  #backoff(attempts: number): number {
    const ceiling = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.max(0, attempts - 1));
    return ceiling * (0.5 + this.#random() / 2);
  }

  #wait(ms: number, patience: Patience): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(ms, resolve);
      patience.waiting?.(() => {
        cancel();
        resolve();
      });
    });
  }

  /** False when the caller was woken before its turn came. */
  #turn(gate: Gate, patience: Patience, isUrgent: boolean): Promise<boolean> {
    return new Promise((resolve) => {
      const leave = gate.enqueue(() => resolve(true), isUrgent);
      patience.waiting?.(() => {
        leave();
        resolve(false);
      });
    });
  }
}

function describe(trouble: Trouble, story: Story, now: number): Setback {
  const { cause, status, reason } = trouble;
  return {
    cause,
    status,
    reason,
    attempts: story.attempts,
    sinceMs: now - story.began,
    inDoubt: story.inDoubt,
    othersPass: story.gate.lastSuccess > story.began,
  };
}

const sentTexts = (call: Call): string[] =>
  call.body === undefined || call.contentType !== undefined ? [] : textsIn(readJson(String(call.body)));
