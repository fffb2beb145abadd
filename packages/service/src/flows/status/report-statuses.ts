import type { AckOutcome, MessageStatusFrame } from '@footbridge/protocol/frames';
import { requestTime, usableMessageId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';
import type { Failpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';

import type { Attempt, FailedAttempt } from '../../ports/crm/attempt.ts';
import type { Journal, JournalReader, SentStatuses } from '../../ports/journal/journal.ts';
import type { Lease } from '../../ports/switchboard/switchboard.ts';
import { RecentCache } from '../../recent-cache.ts';
import { DeliveryQueue } from './delivery-queue.ts';
import type { KnownRequest } from './known-request.ts';
import type { Status } from './status-calls.ts';
import { StatusDelivery, messageKey } from './status-delivery.ts';
import type { StatusDeliveryDeps } from './status-delivery.ts';

export interface StatusReportsDeps extends StatusDeliveryDeps {
  /** Status calls are made with OAuth tokens only (A6). */
  readonly oauthReady: boolean;
  readonly journal: Journal;
  /** What earlier runs and other nodes told the CRM. */
  readonly past: Pick<JournalReader, 'sentStatuses'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: Failpoint | undefined;
  /** Whether other nodes may own a location before or after this one; then only its owner may call the CRM. */
  readonly otherNodes: boolean;
  readonly count?: (status: Status, result: CountedResult) => void;
}

/** Values of a metric's label. */
export type CountedResult = 'ok' | 'refused' | 'given_up' | 'unwanted';

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
 * Tells the CRM about each outbound message: `pending`, then `delivered` or `failed`, in this order on arrival (A1–A11). The node that
 * holds the Mac's socket sends both.
 */
export interface StatusReports {
  /** The frame was written to the Mac's socket. Returns at once. */
  published(published: Published): void;
  /** The Mac reported the outcome. Resolves when the CRM accepted it, refused it for good, or need not be told. */
  reported(lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome>;
  /** A request was rejected (A7). Returns at once. */
  rejected(rejected: Rejected): void;
  close(): Promise<void>;
}

/** How long a call of the former owner may be in flight: its timeout, and on other nodes the time until they notice the lost lease. */
const SETTLE_MS = { earlierRun: 11_000, otherNodes: 20_000 };
/** No `pending` is retried for longer than this, timeouts included. */
const MAX_PENDING_MS = 180_000;
/** With several nodes a rejection is sent within this time or not at all. */
const MAX_REJECTION_MS = 1500;
const REQUESTS_PER_GENERATION = 20_000;

export function createStatusReports(deps: StatusReportsDeps): StatusReports {
  return new QueuedReports(deps);
}

class QueuedReports implements StatusReports {
  readonly #deps: StatusReportsDeps;
  /** The latest requests of this process. The journal has the older ones. */
  readonly #requests = new RecentCache<string, KnownRequest>(REQUESTS_PER_GENERATION);
  readonly #recalls = new Map<string, Promise<KnownRequest | undefined>>();
  readonly #leaseSince = new WeakMap<Lease, number>();
  readonly #queue: DeliveryQueue;
  #isClosed = false;

  constructor(deps: StatusReportsDeps) {
    this.#deps = deps;
    this.#queue = new DeliveryQueue(deps.failpoint);
  }

  published({ requestId, locationId, messageId, lease }: Published): void {
    const usable = usableMessageId(messageId);
    this.#noteLease(lease);
    const request = newRequest(locationId, usable);
    this.#requests.set(requestId, request);
    if (usable === undefined || !this.#isEnabled(requestId)) return;
    // In one process the queue keeps the order even if the Mac has disconnected; over several nodes only the owner may call.
    const owner = this.#deps.otherNodes ? lease : undefined;
    const update = { locationId, messageId: usable, status: 'pending', error: undefined } as const;
    void this.#deliver(requestId, new StatusDelivery('pending', update, owner, this.#deps, request.key));
  }

  async reported(lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome> {
    this.#noteLease(lease);
    const request = this.#requests.get(frame.requestId) ?? (await this.#recallOnce(lease, frame));
    if (request === undefined) return { outcome: 'rejected', reason: 'this request is not known here' };
    if (request.locationId !== lease.locationId)
      return { outcome: 'rejected', reason: 'this request belongs to another location' };
    if (request.terminal !== undefined) {
      request.delivery?.takeOver(lease);
      return request.terminal;
    }
    const { status, error } = frame;
    this.#deps.journal.step(frame.requestId, 'mac_says', {
      state: status,
      ...(error && { code: error.code }),
      detail: { status },
    });
    request.terminal = this.#deliverTerminal(request, lease, frame);
    return request.terminal;
  }

  rejected({ requestId, locationId, messageId, code, message }: Rejected): void {
    const usable = usableMessageId(messageId);
    if (usable === undefined || !this.#isEnabled(requestId)) return;
    const update = { locationId, messageId: usable, status: 'failed', error: { code, message } } as const;
    const delivery = new StatusDelivery('rejection', update, undefined, this.#deps);
    const delivered = this.#deliver(requestId, delivery);
    if (!this.#deps.otherNodes) return;
    // Queues of other nodes do not know of it: there the CRM may have repeated the request with success.
    const cancel = this.#deps.clock.after(MAX_REJECTION_MS, () => delivery.withdraw());
    void delivered.finally(cancel);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#queue.close();
  }

  #noteLease(lease: Lease): void {
    if (!this.#leaseSince.has(lease)) this.#leaseSince.set(lease, this.#deps.clock.monotonic());
  }

  #isEnabled(requestId: string): boolean {
    if (!this.#deps.oauthReady)
      this.#deps.log.info(
        { event: 'status.skipped', requestId, reason: 'oauth_not_configured' },
        'status callbacks skipped',
      );
    return this.#deps.oauthReady && !this.#isClosed;
  }

  async #deliverTerminal(
    request: KnownRequest,
    lease: Lease,
    frame: MessageStatusFrame,
  ): Promise<AckOutcome> {
    const { messageId, locationId, key } = request;
    if (messageId === undefined || !this.#deps.oauthReady) return { outcome: 'skipped' };
    const { status, error } = frame;
    const update = { locationId, messageId, status, error };
    const delivery = new StatusDelivery('terminal', update, lease, this.#deps, key);
    request.delivery = delivery;
    const ack = ackFor(await this.#deliver(frame.requestId, delivery));
    request.delivery = undefined;
    if (ack === 'retry') request.terminal = undefined;
    return ack;
  }

  async #deliver(requestId: string, delivery: StatusDelivery): Promise<Attempt<undefined>> {
    const result = await this.#queue.add(delivery);
    const { status } = delivery.update;
    this.#deps.count?.(status, countedResult(result));
    if (result.ok) this.#recordAccepted(requestId, delivery);
    else if (result.kind !== 'cancelled' && result.kind !== 'none')
      this.#recordFailed(requestId, status, result);
    return result;
  }

  #recordAccepted(requestId: string, { update: { status }, source }: StatusDelivery): void {
    const isNews = source === 'pending' && this.#requests.get(requestId)?.terminal === undefined;
    this.#deps.journal.step(requestId, 'crm_told', {
      ...(isNews && { state: 'pending' }),
      detail: { status },
    });
  }

  #recordFailed(
    requestId: string,
    status: Status,
    { status: http, kind, reason, code }: FailedAttempt,
  ): void {
    this.#deps.journal.step(requestId, 'crm_refused', { detail: { status, http, reason } });
    this.#deps.log.warn(
      { event: 'status.not_accepted', requestId, status, http, kind, reason, code },
      'status not accepted by the CRM',
    );
  }

  #recallOnce(lease: Lease, frame: MessageStatusFrame): Promise<KnownRequest | undefined> {
    const { requestId } = frame;
    const recall = this.#recalls.get(requestId) ?? this.#recall(lease, frame);
    this.#recalls.set(requestId, recall);
    return recall.finally(() => this.#recalls.delete(requestId));
  }

  /** Restores a request of an earlier run or another node. Waits as long as a `pending` of theirs may still arrive. */
  async #recall(lease: Lease, frame: MessageStatusFrame): Promise<KnownRequest | undefined> {
    const { clock, otherNodes } = this.#deps;
    const settleMs = otherNodes ? SETTLE_MS.otherNodes : SETTLE_MS.earlierRun;
    const madeAt = requestTime(frame.requestId);
    const sent = await this.#sentStatuses(frame.requestId);
    if (sent === undefined && madeAt === undefined) return undefined;
    const statuses = sent?.statuses ?? [];
    const request = newRequest(
      sent?.locationId ?? lease.locationId,
      usableMessageId(sent === undefined ? frame.messageId : sent.messageId),
    );
    if (statuses.includes('delivered') || statuses.includes('failed'))
      request.terminal = Promise.resolve({ outcome: 'delivered' });
    else if (
      request.locationId === lease.locationId &&
      !statuses.includes('pending') &&
      clock.now() - (madeAt ?? 0) < MAX_PENDING_MS
    ) {
      const since = this.#leaseSince.get(lease) ?? clock.monotonic();
      await clock.sleep(Math.max(0, since + settleMs - clock.monotonic()));
    }
    this.#requests.set(frame.requestId, request);
    return request;
  }

  async #sentStatuses(requestId: string): Promise<SentStatuses | undefined> {
    try {
      return await this.#deps.past.sentStatuses(requestId);
    } catch (error) {
      // The CRM refuses a status for a message of another location, so an unavailable journal need not lose one.
      this.#deps.log.warn(
        { event: 'status.journal_unavailable', requestId, err: error },
        'request not found, journal unavailable',
      );
      return undefined;
    }
  }
}

const newRequest = (locationId: string, messageId: string | undefined): KnownRequest => ({
  locationId,
  messageId,
  key: messageId === undefined ? undefined : messageKey(locationId, messageId),
  terminal: undefined,
  delivery: undefined,
});

function countedResult(result: Attempt<undefined>): CountedResult {
  if (result.ok) return 'ok';
  if (result.kind === 'cancelled') return 'unwanted';
  return result.kind === 'refused' ? 'refused' : 'given_up';
}

function ackFor(result: Attempt<undefined>): AckOutcome {
  if (result.ok) return { outcome: 'delivered' };
  const { kind, status, reason } = result;
  if (kind === 'cancelled') return 'retry';
  if (kind === 'none') return { outcome: 'skipped' };
  const what = kind === 'refused' ? 'the CRM refused' : 'the CRM did not take it';
  return { outcome: 'rejected', reason: `${what}: ${status} ${reason}`.trim() };
}
