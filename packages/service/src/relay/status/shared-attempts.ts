import type { MessageStatusFrame } from '@footbridge/protocol/frames';
import { requestTime, usableMessageId } from '@footbridge/protocol/ids';

import { LeaseAges } from '../switchboard/lease-fence.ts';
import type { Lease, ReportedStatus } from '../switchboard/switchboard.ts';
import { RecentCache } from '../../platform/recent-cache.ts';
import { newAttempt, DELIVERED } from './message-attempt.ts';
import type { KnownStatus, MessageAttempt } from './message-attempt.ts';
import { messageKey } from './delivery-queue.ts';
import type { StatusHistory, StatusHistoryDeps } from './status-history.ts';

export interface SharedAttemptsDeps extends Pick<StatusHistoryDeps, 'otherNodes'> {
  /** Status calls are made with OAuth tokens only (A6). */
  readonly oauthReady: boolean;
  /** Called when another request for the same message is recognised. */
  readonly onRepeat?: () => void;
}

export interface KnownRequest {
  attempt: MessageAttempt;
  /** Whether another request had begun the attempt. */
  readonly isRepeat: boolean;
  /** Whether the Mac has reported this request before. */
  isReported: boolean;
}

const REQUESTS_PER_GENERATION = 20_000;
const MESSAGE_ID_REUSED = 'INVALID_FRAME';

/**
 * Caches the recent requests of this process and the latest attempt of each message; older ones are in the journal. Decides which attempt
 * each request and each report belongs to (A5). Requests that repeat a message share its attempt unless the attempt has failed.
 */
export class SharedAttempts {
  readonly #deps: SharedAttemptsDeps;
  readonly #history: StatusHistory;
  readonly #requests = new RecentCache<string, KnownRequest>(REQUESTS_PER_GENERATION);
  readonly #attempts = new RecentCache<string, MessageAttempt>(REQUESTS_PER_GENERATION);

  constructor(deps: SharedAttemptsDeps, history: StatusHistory) {
    this.#deps = deps;
    this.#history = history;
  }

  requestOf(requestId: string): KnownRequest | undefined {
    return this.#requests.get(requestId);
  }

  remember(requestId: string, request: KnownRequest): void {
    this.#requests.set(requestId, request);
  }

  forgetRequest(requestId: string): void {
    this.#requests.delete(requestId);
  }

  forgetAttempt({ key }: MessageAttempt): void {
    this.#attempts.delete(key ?? '');
  }

  async statusOf(locationId: string, messageId: string): Promise<ReportedStatus | undefined> {
    const known = this.#attempts.get(messageKey(locationId, messageId));
    if (known === undefined) return undefined;
    const { lastStatus, outcome, epoch } = known;
    return { status: await lastStatus, isUnderWay: outcome !== 'failed', epoch };
  }

  /**
   * Adds a published request. `own` becomes its attempt, unless an earlier attempt of the message is under way or delivered. Returns the attempt that
   * needs a `pending`: a new one, or one that another node may have reported since.
   */
  addPublished(own: MessageAttempt, lease: Lease): MessageAttempt | undefined {
    const known = this.#attempts.get(own.key ?? '');
    const shared = known?.outcome === 'failed' ? undefined : known;
    this.remember(own.requestId, {
      attempt: shared ?? own,
      isRepeat: shared !== undefined,
      isReported: false,
    });
    if (shared === undefined) {
      this.#begin(own, known, lease);
      return own;
    }
    this.#deps.onRepeat?.();
    return shared.outcome === undefined && this.refresh(shared, lease) ? shared : undefined;
  }

  /** Adds a rejected request as a failed attempt. Returns false when the rejection says nothing new about the message. */
  addRejected(own: MessageAttempt): boolean {
    const known = this.#attempts.get(own.key ?? '');
    // The message is on its way or was delivered: the rejection of a repeat does not change that.
    if (known !== undefined && known.outcome !== 'failed') return false;
    // The CRM is being told of the failure: a repeat that came before that adds nothing.
    if (known?.delivery !== undefined) return false;
    own.outcome = 'failed';
    this.#begin(own, known, undefined);
    return true;
  }

  /** Returns the attempt of an earlier request: the attempt that other requests for the message have begun here, or `own`. */
  addRestored(own: MessageAttempt, lease: Lease): MessageAttempt {
    if (own.key === undefined || !this.#deps.oauthReady) return own;
    const known = this.#attempts.get(own.key);
    if (known === undefined) this.#begin(own, undefined, lease);
    return known ?? own;
  }

  /** Adds a report of the Mac. Returns the attempt that it ends or has ended, or undefined when it ends none. */
  addReport(request: KnownRequest, frame: MessageStatusFrame): MessageAttempt | undefined {
    const { attempt, isRepeat, isReported } = request;
    request.isReported = true;
    // The Mac rejects another text under the same id (M4). The message itself is still under way.
    if (isRepeat && attempt.outcome === undefined && frame.error?.code === MESSAGE_ID_REUSED)
      return undefined;
    const current = isReported ? attempt : this.#attemptFor(attempt, frame);
    request.attempt = current;
    if (current.terminal !== undefined || frame.status !== 'failed') return current;
    const latest = this.#latest(current);
    // The CRM was not told of this failure before a later request began another attempt, which is under way or was delivered.
    return latest !== current && latest.outcome !== 'failed' ? undefined : current;
  }

  /** Returns the attempt that a report belongs to. A repeat that succeeds after its shared attempt failed belongs to a later one (A5). */
  #attemptFor(shared: MessageAttempt, { requestId, status }: MessageStatusFrame): MessageAttempt {
    if (status === 'failed' || shared.outcome === 'delivered') return shared;
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

  /** Starts an attempt. `before` is the failed attempt before it. A rejection has no lease. */
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

  /**
   * Reads the last status of the attempt again if another node may have owned the location and reported since the last read. Returns
   * whether it is read again.
   */
  refresh(attempt: MessageAttempt, lease: Lease): boolean {
    const { lastStatus, epoch } = attempt;
    if (this.#deps.otherNodes === undefined || epoch === lease.epoch) return false;
    attempt.epoch = lease.epoch;
    attempt.lastStatus = this.#history.lastStatus(attempt, lease, { lastStatus, epoch });
    return true;
  }
}

type EarlierRequestsDeps = Pick<StatusHistoryDeps, 'otherNodes' | 'clock'>;

/** How long a call of an earlier run may be in flight: its timeout. */
const EARLIER_RUN_MS = 11_000;
/** No `pending` is retried for longer than this, timeouts included. */
const MAX_PENDING_MS = 180_000;

/** Restores requests of earlier runs and other nodes when the Mac reports them here (A4, A5). */
export class EarlierRequests {
  readonly #deps: EarlierRequestsDeps;
  readonly #attempts: SharedAttempts;
  readonly #history: StatusHistory;
  readonly #recalls = new Map<string, Promise<KnownRequest | undefined>>();
  readonly #leases: LeaseAges;

  constructor(deps: EarlierRequestsDeps, attempts: SharedAttempts, history: StatusHistory) {
    this.#deps = deps;
    this.#attempts = attempts;
    this.#history = history;
    this.#leases = new LeaseAges(deps.clock);
  }

  /** Calls of an earlier run may be in flight for `EARLIER_RUN_MS` after the first use of a lease. */
  recordLease(lease: Lease): void {
    this.#leases.used(lease);
  }

  /** Waits as long as an earlier `pending` may still arrive at the CRM. Resolves with undefined when this service did not issue the request id. */
  recall(lease: Lease, frame: MessageStatusFrame): Promise<KnownRequest | undefined> {
    const { requestId } = frame;
    const recall = this.#recalls.get(requestId) ?? this.#recall(lease, frame);
    this.#recalls.set(requestId, recall);
    return recall.finally(() => this.#recalls.delete(requestId));
  }

  async #recall(lease: Lease, frame: MessageStatusFrame): Promise<KnownRequest | undefined> {
    const { clock, otherNodes } = this.#deps;
    const unsettledMs = await (otherNodes?.callsEnded(lease) ?? this.#unsettledMs(lease));
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
      const hasPending = statuses.includes('pending');
      if (unsettledMs > 0 && !hasPending && clock.now() - (madeAt ?? 0) < MAX_PENDING_MS)
        await clock.sleep(unsettledMs);
      attempt.restored = sent === undefined ? 'unverified' : 'known';
      request.attempt = this.#attempts.addRestored(attempt, lease);
      // The former owner lost the location before it could send it. One that was killed may have sent it.
      attempt.isPendingMissing = !hasPending && otherNodes !== undefined && unsettledMs === 0;
    }
    // What only the Mac knows, and the CRM is not asked about, must not push other requests out of the cache (T32).
    if (sent !== undefined || attempt.messageId !== undefined)
      this.#attempts.remember(frame.requestId, request);
    return request;
  }

  /** How much longer a call of an earlier run may be in flight. */
  #unsettledMs(lease: Lease): number {
    return Math.max(0, EARLIER_RUN_MS - this.#leases.ageMs(lease));
  }
}
