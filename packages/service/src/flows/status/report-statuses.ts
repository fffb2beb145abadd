import type { AckOutcome, MessageStatusFrame } from '@footbridge/protocol/frames';
import { requestTime, usableMessageId } from '@footbridge/protocol/ids';

import { sleep } from '../../clock.ts';
import type { Clock } from '../../clock.ts';
import type { Failpoint } from '../../failpoint.ts';
import type { Logger } from '../../log.ts';
import type { Journal, JournalReader, Told } from '../../ports/journal/journal.ts';
import type { Lease } from '../../ports/switchboard/switchboard.ts';
import { KnownRequests } from './known-requests.ts';
import type { KnownRequest } from './known-requests.ts';
import { MessageLanes } from './message-lanes.ts';
import type { Status, StatusCalls, StatusOutcome } from './status-calls.ts';
import { Telling, laneOf } from './telling.ts';
import type { Leases } from './telling.ts';

export interface StatusReportsDeps extends Leases {
  /** Status calls are made with OAuth tokens only (A6). */
  readonly oauthReady: boolean;
  readonly calls: StatusCalls;
  readonly journal: Journal;
  /** What earlier runs and other nodes told the CRM. */
  readonly past: Pick<JournalReader, 'told'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly failpoint: Failpoint | undefined;
  /** Whether another node may own a location next, or owned it before; then only its owner may say anything at all. */
  readonly otherNodes: boolean;
  readonly count?: (status: Status, result: StatusOutcome['kind']) => void;
}

export interface Published {
  readonly requestId: string;
  readonly locationId: string;
  readonly messageId: string | null;
  readonly lease: Lease;
}

export interface Rejected {
  readonly requestId: string;
  readonly locationId: string;
  readonly messageId: string | null;
  readonly code: string;
  readonly message: string;
}

/**
 * What the CRM learns of each outbound message: `pending`, then `delivered` or `failed`, in this order on arrival (A1–A11).
 * Whoever holds the Mac's socket says both.
 */
export interface StatusReports {
  /** The frame is on the Mac's socket. Returns at once. */
  published(what: Published): void;
  /** The Mac says what became of it. Resolves when the CRM took it, refused it for good, or there is nobody to tell. */
  reported(lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome>;
  /** A request was turned away (A7). Returns at once. */
  rejected(what: Rejected): void;
  close(): Promise<void>;
}

/** How long a call of a former owner may still be on the wire: its timeout; of another node, also the time in which it learns of its loss. */
const SETTLE_MS = { ownFormerLife: 11_000, otherNodes: 20_000 };
/** No `pending` is tried for longer than this, timeouts included. */
const PENDING_LIFE_MS = 180_000;
/** Over several nodes a refusal is told within this, or not at all. */
const REFUSAL_LIFE_MS = 1500;

export function createStatusReports(deps: StatusReportsDeps): StatusReports {
  return new Reports(deps);
}

class Reports implements StatusReports {
  readonly #deps: StatusReportsDeps;
  readonly #requests = new KnownRequests();
  readonly #recalls = new Map<string, Promise<KnownRequest | undefined>>();
  readonly #leaseSince = new WeakMap<Lease, number>();
  readonly #lanes: MessageLanes;
  #closed = false;

  constructor(deps: StatusReportsDeps) {
    this.#deps = deps;
    this.#lanes = new MessageLanes(deps.calls, deps.failpoint);
  }

  published({ requestId, locationId, messageId, lease }: Published): void {
    const usable = usableMessageId(messageId);
    this.#see(lease);
    const request = newRequest(locationId, usable);
    this.#requests.set(requestId, request);
    if (usable === undefined || !this.#speaks(requestId)) return;
    // In one process the lanes keep the order, also when the Mac is gone by now; over nodes only the owner may speak.
    const fence = this.#deps.otherNodes ? lease : undefined;
    const call = { locationId, messageId: usable, status: 'pending', error: undefined } as const;
    void this.#tell(requestId, new Telling('pending', call, fence, this.#deps, request.lane));
  }

  async reported(lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome> {
    this.#see(lease);
    const request = this.#requests.get(frame.requestId) ?? (await this.#recallOnce(lease, frame));
    if (request === undefined) return { outcome: 'rejected', reason: 'this request is not known here' };
    if (request.locationId !== lease.locationId)
      return { outcome: 'rejected', reason: 'this request belongs to another location' };
    if (request.terminal !== undefined) {
      request.telling?.speakFor(lease);
      return request.terminal;
    }
    const { status, error } = frame;
    this.#deps.journal.step(frame.requestId, 'mac_says', {
      state: status,
      ...(error && { code: error.code }),
      detail: { status },
    });
    request.terminal = this.#tellTerminal(request, lease, frame);
    return request.terminal;
  }

  rejected({ requestId, locationId, messageId, code, message }: Rejected): void {
    const usable = usableMessageId(messageId);
    if (usable === undefined || !this.#speaks(requestId)) return;
    const call = { locationId, messageId: usable, status: 'failed', error: { code, message } } as const;
    const telling = new Telling('rejection', call, undefined, this.#deps);
    const told = this.#tell(requestId, telling);
    if (!this.#deps.otherNodes) return;
    // The lanes of another node do not know of it: there the CRM may have repeated the request with success by now.
    const cancel = this.#deps.clock.after(REFUSAL_LIFE_MS, () => telling.withdraw());
    void told.finally(cancel);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#lanes.close();
  }

  #see(lease: Lease): void {
    if (!this.#leaseSince.has(lease)) this.#leaseSince.set(lease, this.#deps.clock.monotonic());
  }

  #speaks(requestId: string): boolean {
    if (!this.#deps.oauthReady)
      this.#deps.log.info({ requestId, reason: 'oauth_not_configured' }, 'status callbacks skipped');
    return this.#deps.oauthReady && !this.#closed;
  }

  async #tellTerminal(request: KnownRequest, lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome> {
    const { messageId, locationId, lane } = request;
    if (messageId === undefined || !this.#deps.oauthReady) return { outcome: 'skipped' };
    const { status, error } = frame;
    const call = { locationId, messageId, status, error };
    const telling = new Telling('terminal', call, lease, this.#deps, lane);
    request.telling = telling;
    const ack = ackFor(await this.#tell(frame.requestId, telling));
    request.telling = undefined;
    if (ack === 'retry') request.terminal = undefined;
    return ack;
  }

  async #tell(requestId: string, telling: Telling): Promise<StatusOutcome> {
    const outcome = await this.#lanes.tell(telling);
    this.#record(requestId, telling, outcome);
    return outcome;
  }

  #record(requestId: string, { call: { status }, voice }: Telling, outcome: StatusOutcome): void {
    const { journal, log, count } = this.#deps;
    count?.(status, outcome.kind);
    if (outcome.kind === 'ok') {
      const isNews = voice === 'pending' && this.#requests.get(requestId)?.terminal === undefined;
      journal.step(requestId, 'crm_told', { ...(isNews && { state: 'pending' }), detail: { status } });
      return;
    }
    if (outcome.kind === 'unwanted') return;
    const { status: http, reason } = outcome.kind === 'refused' ? outcome : outcome.setback;
    if (outcome.kind === 'given_up' && outcome.setback.cause === 'none') return;
    journal.step(requestId, 'crm_refused', { detail: { status, http, reason } });
    log.warn({ requestId, status, http, reason }, 'the CRM did not take a status');
  }

  #recallOnce(lease: Lease, frame: MessageStatusFrame): Promise<KnownRequest | undefined> {
    const { requestId } = frame;
    const under = this.#recalls.get(requestId) ?? this.#recall(lease, frame);
    this.#recalls.set(requestId, under);
    return under.finally(() => this.#recalls.delete(requestId));
  }

  /** A request of an earlier run, or of another node. Nothing is said of it while a `pending` of theirs may still arrive. */
  async #recall(lease: Lease, frame: MessageStatusFrame): Promise<KnownRequest | undefined> {
    const { clock, otherNodes } = this.#deps;
    const settleMs = otherNodes ? SETTLE_MS.otherNodes : SETTLE_MS.ownFormerLife;
    const madeAt = requestTime(frame.requestId);
    const told = await this.#told(frame.requestId);
    if (told === undefined && madeAt === undefined) return undefined;
    const statuses = told?.statuses ?? [];
    const request = newRequest(
      told?.locationId ?? lease.locationId,
      usableMessageId(told === undefined ? frame.messageId : told.messageId),
    );
    if (statuses.includes('delivered') || statuses.includes('failed'))
      request.terminal = Promise.resolve({ outcome: 'delivered' });
    else if (
      request.locationId === lease.locationId &&
      !statuses.includes('pending') &&
      clock.now() - (madeAt ?? 0) < PENDING_LIFE_MS
    ) {
      const since = this.#leaseSince.get(lease) ?? clock.monotonic();
      await sleep(clock, Math.max(0, since + settleMs - clock.monotonic()));
    }
    this.#requests.set(frame.requestId, request);
    return request;
  }

  async #told(requestId: string): Promise<Told | undefined> {
    try {
      return await this.#deps.past.told(requestId);
    } catch (error) {
      // The CRM itself refuses a status for a message of another location; that the journal is away must not lose one.
      this.#deps.log.warn({ requestId, err: error }, 'the journal could not be asked about a request');
      return undefined;
    }
  }
}

const newRequest = (locationId: string, messageId: string | undefined): KnownRequest => ({
  locationId,
  messageId,
  lane: messageId === undefined ? undefined : laneOf(locationId, messageId),
  terminal: undefined,
  telling: undefined,
});

function ackFor(outcome: StatusOutcome): AckOutcome {
  if (outcome.kind === 'ok') return { outcome: 'delivered' };
  if (outcome.kind === 'unwanted') return 'retry';
  if (outcome.kind === 'refused')
    return { outcome: 'rejected', reason: `the CRM refused: ${outcome.status} ${outcome.reason}`.trim() };
  const { cause, status, reason } = outcome.setback;
  if (cause === 'none') return { outcome: 'skipped' };
  return { outcome: 'rejected', reason: `the CRM did not take it: ${status} ${reason}`.trim() };
}
