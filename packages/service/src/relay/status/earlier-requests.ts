import type { MessageStatusFrame } from '@footbridge/protocol/frames';
import { requestTime, usableMessageId } from '@footbridge/protocol/ids';

import type { Lease } from '../switchboard/switchboard.ts';
import { DELIVERED, newAttempt } from './message-attempt.ts';
import type { KnownRequest, SharedAttempts } from './shared-attempts.ts';
import type { StatusHistory, StatusHistoryDeps } from './status-history.ts';

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
  readonly #leaseSince = new WeakMap<Lease, number>();

  constructor(deps: EarlierRequestsDeps, attempts: SharedAttempts, history: StatusHistory) {
    this.#deps = deps;
    this.#attempts = attempts;
    this.#history = history;
  }

  /** Remembers when this process first saw the lease. Calls of an earlier run may be in flight for `EARLIER_RUN_MS` after that. */
  recordLease(lease: Lease): void {
    if (!this.#leaseSince.has(lease)) this.#leaseSince.set(lease, this.#deps.clock.monotonic());
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
    const now = this.#deps.clock.monotonic();
    return Math.max(0, (this.#leaseSince.get(lease) ?? now) + EARLIER_RUN_MS - now);
  }
}
