import type { AckOutcome, MessageStatusFrame } from '@footbridge/protocol/frames';
import { requestTime, usableMessageId } from '@footbridge/protocol/ids';
import type { Failpoint } from '@footbridge/runtime/failpoints';

import type { Attempt, FailedAttempt } from '../../ports/crm/attempt.ts';
import { Cancellation } from '../../ports/crm/cancellation.ts';
import type { Journal } from '../../ports/journal/journal.ts';
import type { Lease, ReportedStatus, StatusKeeper } from '../../ports/switchboard/switchboard.ts';
import { RecentCache } from '../../recent-cache.ts';
import { DeliveryQueue } from './delivery-queue.ts';
import { newAttempt } from './message-attempt.ts';
import type { KnownRequest, KnownStatus, MessageAttempt } from './message-attempt.ts';
import type { Status, StatusCalls } from './status-calls.ts';
import { StatusDelivery, messageKey } from './status-delivery.ts';
import type { StatusDeliveryDeps } from './status-delivery.ts';
import { StatusHistory } from './status-history.ts';
import type { StatusHistoryDeps } from './status-history.ts';
import { mayFollow } from './status-order.ts';

export interface StatusReportsDeps extends StatusDeliveryDeps, StatusHistoryDeps {
  readonly calls: StatusCalls;
  /** Status calls are made with OAuth tokens only (A6). */
  readonly oauthReady: boolean;
  readonly journal: Journal;
  readonly failpoint: Failpoint | undefined;
  /** After this time, a request that timed out can no longer arrive at the CRM. */
  readonly settleMs: number;
  readonly count?: (status: Status, result: CountedResult) => void;
  /** Called when another request for the same message is recognised. */
  readonly onRepeat?: () => void;
  /** Called when the CRM has accepted a final status from the Mac, with the time since the webhook. */
  readonly onTerminal?: (seconds: number) => void;
}

/** Values of a metric's label. */
export type CountedResult = 'ok' | 'refused' | 'given_up' | 'unwanted' | 'unknown_message';

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
 * Reports each outbound message to the CRM: `pending`, then `delivered` or `failed`, in this order on arrival (A1–A11). The node that
 * holds the Mac's socket sends both. Requests that repeat a message add no status of their own, unless the earlier ones failed (A5).
 */
export interface StatusReports extends StatusKeeper {
  /** The frame was written to the Mac's socket. Returns at once. */
  published(published: Published): void;
  /** The Mac reported the outcome. Resolves when the CRM has accepted it or permanently rejected it, or does not need it. */
  reported(lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome>;
  /** A request was rejected (A7). Returns at once. */
  rejected(rejected: Rejected): void;
  close(): Promise<void>;
}

/** How long a call of an earlier run may be in flight: its timeout. */
const EARLIER_RUN_MS = 11_000;
/** No `pending` is retried for longer than this, timeouts included. */
const MAX_PENDING_MS = 180_000;
/** With several nodes a rejection is first sent within this time or not at all. */
const MAX_REJECTION_MS = 1500;
const REQUESTS_PER_GENERATION = 20_000;
const MESSAGE_ID_REUSED = 'INVALID_FRAME';
/** The epoch of a rejection, which needs no lease. */
const NO_LEASE = 0;
const DELIVERED: Promise<AckOutcome> = Promise.resolve({ outcome: 'delivered' });

export function createStatusReports(deps: StatusReportsDeps): StatusReports {
  return new QueuedReports(deps);
}

class QueuedReports implements StatusReports {
  readonly #deps: StatusReportsDeps;
  /** The latest requests of this process, and the latest attempt of each message. The journal has the older ones. */
  readonly #requests = new RecentCache<string, KnownRequest>(REQUESTS_PER_GENERATION);
  readonly #attempts = new RecentCache<string, MessageAttempt>(REQUESTS_PER_GENERATION);
  readonly #recalls = new Map<string, Promise<KnownRequest | undefined>>();
  readonly #leaseSince = new WeakMap<Lease, number>();
  readonly #queue: DeliveryQueue;
  readonly #closed = new Cancellation();
  readonly #history: StatusHistory;

  constructor(deps: StatusReportsDeps) {
    this.#deps = deps;
    this.#queue = new DeliveryQueue(deps);
    this.#history = new StatusHistory(deps, this.#closed);
  }

  published({ requestId, locationId, messageId, lease }: Published): void {
    this.#noteLease(lease);
    const usable = usableMessageId(messageId);
    const hasCallbacks = usable !== undefined && this.#isEnabled(requestId);
    const attempt = newAttempt(requestId, locationId, usable, lease.epoch);
    const known = hasCallbacks ? this.#attempts.get(attempt.key ?? '') : undefined;
    const joined = known?.outcome === 'failed' ? undefined : known;
    const isRepeat = joined !== undefined;
    if (isRepeat) this.#deps.onRepeat?.();
    this.#requests.set(requestId, { attempt: joined ?? attempt, isRepeat, isReported: false });
    if (!hasCallbacks) return;
    if (joined === undefined) this.#begin(attempt, known, lease);
    else if (joined.outcome === undefined && this.#isOutdated(joined, lease)) this.#refresh(joined, lease);
    else return;
    this.#sendPending(requestId, joined ?? attempt, lease);
  }

  // Not async, for the reason given in the CRM client's `attempt`.
  reported(lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome> {
    this.#noteLease(lease);
    const request = this.#requests.get(frame.requestId);
    return request === undefined
      ? this.#recallAndHandle(lease, frame)
      : this.#handleReport(request, lease, frame);
  }

  async #recallAndHandle(lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome> {
    const request = await this.#recallOnce(lease, frame);
    if (request === undefined) return { outcome: 'rejected', reason: 'this request is not known here' };
    return this.#handleReport(request, lease, frame);
  }

  #handleReport(request: KnownRequest, lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome> {
    const { attempt, isRepeat, isReported } = request;
    if (attempt.locationId !== lease.locationId)
      return Promise.resolve({ outcome: 'rejected', reason: 'this request belongs to another location' });
    const { status, error, guid } = frame;
    if (!isReported)
      this.#deps.journal.step(frame.requestId, 'mac_says', {
        state: status,
        ...(error && { code: error.code }),
        detail: { status, ...(guid !== undefined && { guid }) },
      });
    request.isReported = true;
    // The Mac rejects another text under the same id (M4). The message itself is still under way.
    if (isRepeat && attempt.outcome === undefined && error?.code === MESSAGE_ID_REUSED)
      return Promise.resolve({ outcome: 'skipped' });
    const current = this.#reportedAttempt(attempt, isReported, frame);
    request.attempt = current;
    if (current.terminal !== undefined) {
      current.delivery?.takeOver(lease);
      return current.terminal;
    }
    const latest = this.#latest(current);
    // The CRM was not told of this failure before a later request began another attempt, which is under way or was delivered.
    if (status === 'failed' && latest !== current && latest.outcome !== 'failed')
      return Promise.resolve({ outcome: 'skipped' });
    current.outcome = status;
    current.terminal = this.#deliverTerminal(current, lease, frame);
    return current.terminal;
  }

  /** Returns the attempt that a report ends. A repeat that succeeds after the attempt it shared has failed belongs to a later one (A5). */
  #reportedAttempt(
    shared: MessageAttempt,
    isReported: boolean,
    { requestId, status }: MessageStatusFrame,
  ): MessageAttempt {
    if (isReported || status === 'failed' || shared.outcome === 'delivered') return shared;
    const latest = this.#latest(shared);
    if (latest.outcome !== 'failed') return latest;
    if (shared.outcome !== 'failed' || shared.terminal === undefined) return shared;
    const own = newAttempt(requestId, shared.locationId, shared.messageId, shared.epoch);
    own.isRepeat = own.isPendingMissing = true;
    if (own.key !== undefined) this.#attempts.set(own.key, own);
    return own;
  }

  /** Returns the latest attempt of the same message. */
  #latest(attempt: MessageAttempt): MessageAttempt {
    return this.#attempts.get(attempt.key ?? '') ?? attempt;
  }

  rejected({ requestId, locationId, messageId, code, message }: Rejected): void {
    const usable = usableMessageId(messageId);
    if (usable === undefined || !this.#isEnabled(requestId)) return;
    const attempt = newAttempt(requestId, locationId, usable, NO_LEASE);
    const known = this.#attempts.get(attempt.key ?? '');
    // The message is on its way or was delivered: the rejection of a repeat does not change that.
    if (known !== undefined && known.outcome !== 'failed') return;
    // The CRM is being told of the failure: a repeat that came before that adds nothing.
    if (known?.delivery !== undefined) return;
    attempt.outcome = 'failed';
    this.#begin(attempt, known, undefined);
    const update = { locationId, messageId: usable, status: 'failed', error: { code, message } } as const;
    const { otherNodes, clock } = this.#deps;
    const isStillNews = () => this.#history.isStillUnknown(attempt, delivery.wasSent);
    const delivery = new StatusDelivery(
      'rejection',
      update,
      undefined,
      this.#deps,
      attempt.key,
      otherNodes ? isStillNews : undefined,
    );
    attempt.delivery = delivery;
    const isNews = async () => mayFollow(await attempt.lastStatus, 'rejection', 'failed');
    const delivered = this.#deliver(requestId, attempt, delivery, isNews).finally(() => {
      if (attempt.delivery === delivery) attempt.delivery = undefined;
    });
    if (!otherNodes) return;
    const cancel = clock.after(MAX_REJECTION_MS, () => {
      if (!delivery.wasSent) delivery.withdraw();
    });
    void delivered.finally(cancel);
  }

  settle(locationId: string): Promise<number> {
    return this.#queue.settle(locationId);
  }

  settleRejections(locationId: string, messageId: string): Promise<void> {
    return this.#queue.withdrawRejections(messageKey(locationId, messageId));
  }

  async statusOf(locationId: string, messageId: string): Promise<ReportedStatus | undefined> {
    const known = this.#attempts.get(messageKey(locationId, messageId));
    if (known === undefined) return undefined;
    const { lastStatus, outcome, epoch } = known;
    return { status: await lastStatus, isUnderWay: outcome !== 'failed', epoch };
  }

  async close(): Promise<void> {
    this.#closed.cancel();
    await this.#queue.close();
  }

  /** Starts an attempt. `before` is the failed one that it follows. A rejection has no lease. */
  #begin(attempt: MessageAttempt, before: MessageAttempt | undefined, lease: Lease | undefined): void {
    this.#attempts.set(attempt.key ?? '', attempt);
    // This process knows the status of its own attempts, unless other nodes may have reported since.
    const wasReported = before?.terminal !== undefined;
    if (before !== undefined && (!this.#deps.otherNodes || (wasReported && before.epoch === attempt.epoch)))
      attempt.lastStatus = wasReported ? 'failed' : before.lastStatus;
    else attempt.lastStatus = this.#lastStatus(attempt, lease);
    if (before !== undefined) attempt.isRepeat = true;
  }

  async #lastStatus(attempt: MessageAttempt, lease: Lease | undefined): Promise<KnownStatus> {
    const last = await this.#history.lastStatus(attempt, lease);
    if (last !== 'none') attempt.isRepeat = true;
    return last;
  }

  /** Whether another node may have owned the location, and reported, since the attempt's last status was read. */
  #isOutdated(attempt: MessageAttempt, lease: Lease): boolean {
    return this.#deps.otherNodes !== undefined && attempt.epoch !== lease.epoch;
  }

  #refresh(attempt: MessageAttempt, lease: Lease): void {
    const { lastStatus, epoch } = attempt;
    attempt.epoch = lease.epoch;
    attempt.lastStatus = this.#history.lastStatus(attempt, lease, { lastStatus, epoch });
  }

  #sendPending(requestId: string, attempt: MessageAttempt, lease: Lease): void {
    const { locationId, messageId, key } = attempt;
    if (messageId === undefined || !this.#deps.oauthReady) return;
    // In one process the queue keeps the order even if the Mac has disconnected; over several nodes only the owner may call.
    const owner = this.#deps.otherNodes ? lease : undefined;
    const update = { locationId, messageId, status: 'pending', error: undefined } as const;
    const delivery = new StatusDelivery('pending', update, owner, this.#deps, key);
    attempt.pending = delivery;
    attempt.isPendingMissing = false;
    let isNeeded = false;
    const delivered = this.#deliver(requestId, attempt, delivery, async () => {
      isNeeded = mayFollow(await attempt.lastStatus, 'pending', 'pending');
      // From here on, statuses are reported for this attempt, not for the failed one before it.
      if (isNeeded) attempt.lastStatus = 'none';
      return isNeeded;
    });
    void delivered.then((result) => {
      if (attempt.pending !== delivery) return;
      attempt.pending = undefined;
      attempt.isPendingMissing = isNeeded && !delivery.wasSent && isCancelled(result);
    });
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
    return this.#deps.oauthReady && !this.#closed.isCancelled;
  }

  async #deliverTerminal(
    attempt: MessageAttempt,
    lease: Lease,
    frame: MessageStatusFrame,
  ): Promise<AckOutcome> {
    const { messageId, locationId, key } = attempt;
    if (messageId === undefined || !this.#deps.oauthReady) return { outcome: 'skipped' };
    attempt.pending?.takeOver(lease);
    if (this.#isOutdated(attempt, lease)) this.#refresh(attempt, lease);
    const { status, error, guid } = frame;
    let last = await attempt.lastStatus;
    // Its `pending` is still to be sent, and begins an attempt after the failed one.
    if (last === 'failed' && attempt.pending !== undefined) last = 'none';
    if (attempt.restored !== undefined && last !== 'pending' && mayFollow(last, 'terminal', status)) {
      const shown = await this.#history.shownForReport(attempt, messageId, lease);
      if (this.#closed.isCancelled) {
        attempt.terminal = attempt.outcome = undefined;
        return 'retry';
      }
      if (shown === 'absent' && attempt.restored === 'unverified') {
        this.#deps.count?.(status, 'unknown_message');
        if (key !== undefined) this.#attempts.delete(key);
        this.#requests.delete(frame.requestId);
        return { outcome: 'skipped' };
      }
      if (shown === 'pending' || shown === 'delivered' || shown === 'failed')
        attempt.lastStatus = last = shown;
    }
    // Reported under another request of the same message, by an earlier run or another node.
    if (!mayFollow(last, 'terminal', status)) return { outcome: 'delivered' };
    if (attempt.isPendingMissing) this.#sendPending(frame.requestId, attempt, lease);
    const update = { locationId, messageId, status, error, guid };
    const delivery = new StatusDelivery('terminal', update, lease, this.#deps, key);
    attempt.delivery = delivery;
    const ack = ackFor(await this.#deliver(frame.requestId, attempt, delivery));
    attempt.delivery = undefined;
    if (ack === 'retry') attempt.terminal = attempt.outcome = undefined;
    // Shared: the promise of this call would stay in memory as long as the attempt.
    else if (ack.outcome === 'delivered') attempt.terminal = DELIVERED;
    // Nothing was sent for lack of a token. A repeat may be sent once there is one.
    else if (ack.outcome === 'skipped' && key !== undefined) this.#attempts.delete(key);
    return ack;
  }

  async #deliver(
    requestId: string,
    attempt: MessageAttempt,
    delivery: StatusDelivery,
    isNeeded?: () => Promise<boolean>,
  ): Promise<Attempt<undefined>> {
    const result = await this.#queue.add(delivery, isNeeded);
    const { status, locationId, messageId } = delivery.update;
    this.#deps.count?.(status, countedResult(result));
    if (result.ok) {
      attempt.lastStatus = status;
      if (delivery.source === 'terminal') this.#timeTerminal(requestId);
      const isPending = status === 'pending' && attempt.terminal === undefined;
      this.#deps.journal.step(requestId, 'crm_told', {
        ...(isPending && { state: 'pending' }),
        detail: { status },
        message: { locationId, messageId },
        isRepeat: attempt.isRepeat || requestId !== attempt.requestId,
      });
    } else if (result.kind !== 'cancelled' && result.kind !== 'none') {
      this.#recordFailed(requestId, status, result);
    }
    return result;
  }

  #timeTerminal(requestId: string): void {
    const { onTerminal, clock } = this.#deps;
    const acceptedAt = requestTime(requestId);
    if (acceptedAt !== undefined) onTerminal?.(Math.max(0, clock.now() - acceptedAt) / 1000);
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
    const unsettledMs = await (otherNodes?.settled(lease) ?? this.#unsettledMs(lease));
    const madeAt = requestTime(frame.requestId);
    const sent = await this.#history.sentStatuses(frame.requestId);
    if (sent === undefined && madeAt === undefined) return undefined;
    const statuses = sent?.statuses ?? [];
    const attempt = newAttempt(
      frame.requestId,
      sent?.locationId ?? lease.locationId,
      usableMessageId(sent === undefined ? frame.messageId : sent.messageId),
      lease.epoch,
    );
    const outcome = (['delivered', 'failed'] as const).find((status) => statuses.includes(status));
    const request = { attempt, isRepeat: false, isReported: outcome !== undefined };
    if (outcome !== undefined) {
      attempt.outcome = outcome;
      attempt.terminal = DELIVERED;
    } else if (attempt.locationId === lease.locationId) {
      const isUntold = !statuses.includes('pending');
      if (unsettledMs > 0 && isUntold && clock.now() - (madeAt ?? 0) < MAX_PENDING_MS)
        await clock.sleep(unsettledMs);
      attempt.restored = sent === undefined ? 'unverified' : 'known';
      request.attempt = this.#sharedAttempt(attempt, lease);
      // The former owner lost the location before it could send it. One that was killed may have sent it.
      attempt.isPendingMissing = isUntold && otherNodes !== undefined && unsettledMs === 0;
    }
    // What only the Mac knows, and the CRM is not asked about, must not push other requests out of the cache (T32).
    if (sent !== undefined || attempt.messageId !== undefined) this.#requests.set(frame.requestId, request);
    return request;
  }

  /** How long a call of an earlier run may be in flight. */
  #unsettledMs(lease: Lease): number {
    const now = this.#deps.clock.monotonic();
    return Math.max(0, (this.#leaseSince.get(lease) ?? now) + EARLIER_RUN_MS - now);
  }

  /** Returns the attempt that other requests of the same message have begun here, or begins this one. */
  #sharedAttempt(attempt: MessageAttempt, lease: Lease): MessageAttempt {
    if (attempt.key === undefined || !this.#deps.oauthReady) return attempt;
    const known = this.#attempts.get(attempt.key);
    if (known === undefined) this.#begin(attempt, undefined, lease);
    return known ?? attempt;
  }
}

const isCancelled = (result: Attempt<undefined>) => !result.ok && result.kind === 'cancelled';

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
