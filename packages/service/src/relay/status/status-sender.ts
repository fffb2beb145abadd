import type { AckOutcome, MessageStatusFrame } from '@footbridge/protocol/frames';
import { requestTime } from '@footbridge/protocol/ids';

import type { Attempt, FailedAttempt, Cancellation } from '../../platform/retry/retry.ts';
import type { Journal } from '../journal/journal-sql.ts';
import type { Lease } from '../switchboard/switchboard.ts';
import type { DeliveryQueue, StatusDeliveryDeps } from './delivery-queue.ts';
import { DELIVERED, mayFollow } from './message-attempt.ts';
import type { MessageAttempt } from './message-attempt.ts';
import type { SharedAttempts, SharedAttemptsDeps } from './shared-attempts.ts';
import type { Status, StatusError } from './status-calls.ts';
import { StatusDelivery } from './delivery-queue.ts';
import type { StatusHistory, StatusHistoryDeps } from './status-history.ts';

export interface StatusSenderDeps
  extends
    StatusDeliveryDeps,
    Pick<SharedAttemptsDeps, 'oauthReady'>,
    Pick<StatusHistoryDeps, 'otherNodes' | 'log'> {
  readonly journal: Pick<Journal, 'step'>;
  readonly count?: (status: Status, result: CountedResult) => void;
  /** Called when the CRM has accepted a final status from the Mac, with the time since the webhook. */
  readonly onTerminal?: (seconds: number) => void;
}

/** Values of a metric's label. */
export type CountedResult = 'ok' | 'refused' | 'given_up' | 'unwanted' | 'unknown_message';

/** With several nodes a rejection is first sent within this time or not at all. */
const MAX_REJECTION_MS = 1500;

/** Sends statuses that the CRM does not have yet, and records the results (A2, A3, A7, A11). */
export class StatusSender {
  readonly #deps: StatusSenderDeps;
  readonly #queue: DeliveryQueue;
  readonly #attempts: SharedAttempts;
  readonly #history: StatusHistory;
  readonly #closed: Cancellation;

  constructor(
    deps: StatusSenderDeps,
    queue: DeliveryQueue,
    attempts: SharedAttempts,
    history: StatusHistory,
    closed: Cancellation,
  ) {
    this.#deps = deps;
    this.#queue = queue;
    this.#attempts = attempts;
    this.#history = history;
    this.#closed = closed;
  }

  sendPending(requestId: string, attempt: MessageAttempt, lease: Lease): void {
    const { locationId, messageId, key } = attempt;
    if (messageId === undefined) return;
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

  async sendTerminal(attempt: MessageAttempt, lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome> {
    const { messageId, locationId, key } = attempt;
    if (messageId === undefined || !this.#deps.oauthReady) return { outcome: 'skipped' };
    attempt.pending?.takeOver(lease);
    this.#attempts.refresh(attempt, lease);
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
        this.#attempts.forgetAttempt(attempt);
        this.#attempts.forgetRequest(frame.requestId);
        return { outcome: 'skipped' };
      }
      if (shown === 'pending' || shown === 'delivered' || shown === 'failed')
        attempt.lastStatus = last = shown;
    }
    // Reported under another request of the same message, by an earlier run or another node.
    if (!mayFollow(last, 'terminal', status)) return { outcome: 'delivered' };
    if (attempt.isPendingMissing) this.sendPending(frame.requestId, attempt, lease);
    const update = { locationId, messageId, status, error, guid };
    const delivery = new StatusDelivery('terminal', update, lease, this.#deps, key);
    attempt.delivery = delivery;
    const ack = ackFor(await this.#deliver(frame.requestId, attempt, delivery));
    attempt.delivery = undefined;
    if (ack === 'retry') attempt.terminal = attempt.outcome = undefined;
    else if (ack.outcome === 'delivered') attempt.terminal = DELIVERED;
    // Nothing was sent for lack of a token. A repeat may be sent once there is one.
    else if (ack.outcome === 'skipped') this.#attempts.forgetAttempt(attempt);
    return ack;
  }

  sendRejection(attempt: MessageAttempt, error: StatusError): void {
    const { requestId, locationId, messageId, key } = attempt;
    if (messageId === undefined) return;
    const update = { locationId, messageId, status: 'failed', error } as const;
    const { otherNodes, clock } = this.#deps;
    const isStillNews = () => this.#history.isStillUnknown(attempt, delivery.wasSent);
    const delivery = new StatusDelivery(
      'rejection',
      update,
      undefined,
      this.#deps,
      key,
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
      this.#deps.journal.step(requestId, 'status_sent', {
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
