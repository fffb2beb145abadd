import type { AckOutcome, MessageStatusFrame } from '@footbridge/protocol/frames';
import { usableMessageId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';

import { Cancellation } from '../../platform/retry/retry.ts';
import { SET_ASIDE } from '../../platform/suspects/suspects.ts';
import type { Suspects } from '../../platform/suspects/suspects-sql.ts';
import type { Lease, ReportedStatus, StatusKeeper } from '../switchboard/switchboard.ts';
import { DeliveryQueue, messageKey } from './delivery-queue.ts';
import type { DeliveryQueueDeps } from './delivery-queue.ts';
import { StatusHistory } from './status-history.ts';
import { newAttempt } from './message-attempt.ts';
import { EarlierRequests, SharedAttempts } from './shared-attempts.ts';
import type { KnownRequest, SharedAttemptsDeps } from './shared-attempts.ts';
import type { StatusCalls } from './status-calls.ts';
import type { StatusHistoryDeps } from './status-history.ts';
import { StatusSender } from './status-sender.ts';
import type { StatusSenderDeps } from './status-sender.ts';

export interface StatusReportsDeps
  extends StatusSenderDeps, StatusHistoryDeps, SharedAttemptsDeps, DeliveryQueueDeps {
  readonly calls: StatusCalls;
  readonly clock: Clock;
  readonly suspects?: Pick<Suspects, 'handle' | 'setAside'>;
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
 * Reports each outbound message to the CRM: `pending`, then `delivered` or `failed`, in this order on arrival (A1–A11). The node that
 * holds the Mac's socket sends both. Requests that repeat a message add no status of their own, unless the earlier ones failed (A5).
 */
export interface StatusReports extends StatusKeeper {
  /** The frame was written to the Mac's socket. Returns at once. */
  published(published: Published): void;
  /** The Mac reported the outcome. Resolves when the CRM has accepted or permanently rejected the outcome, or does not need it. */
  reported(lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome>;
  /** A request was rejected (A7). Returns at once. */
  rejected(rejected: Rejected): void;
  close(): Promise<void>;
}

/** The epoch of a rejection, which needs no lease. */
const NO_LEASE = 0;

export function createStatusReports(deps: StatusReportsDeps): StatusReports {
  return new QueuedReports(deps);
}

/** In place of what the Mac says about a message that ended its agent twice. */
const AGENT_ENDED = {
  code: 'SET_ASIDE',
  message:
    'The agent on the Mac ended twice while it worked on this message. It was set aside; the operator can allow another attempt.',
};
/** In place of what the Mac reported, when that ended the service twice. */
const UNREPORTED = {
  code: 'SET_ASIDE',
  message: 'The service ended twice while it worked on the error that the Mac reported, so it is not shown.',
};

/**
 * `SharedAttempts` decides which attempt of its message a request belongs to (A5). `EarlierRequests` and `StatusHistory` find what the CRM
 * was told before, and `mayFollow` decides what may follow it. `DeliveryQueue` decides when a status is sent (A4), and
 * `STATUS_RETRY_POLICIES` how often (A11).
 */
class QueuedReports implements StatusReports {
  readonly #deps: StatusReportsDeps;
  readonly #closed = new Cancellation();
  readonly #queue: DeliveryQueue;
  readonly #attempts: SharedAttempts;
  readonly #earlier: EarlierRequests;
  readonly #sender: StatusSender;

  constructor(deps: StatusReportsDeps) {
    this.#deps = deps;
    const history = new StatusHistory(deps, this.#closed);
    this.#queue = new DeliveryQueue(deps);
    this.#attempts = new SharedAttempts(deps, history);
    this.#earlier = new EarlierRequests(deps, this.#attempts, history);
    this.#sender = new StatusSender(deps, this.#queue, this.#attempts, history, this.#closed);
  }

  published({ requestId, locationId, messageId, lease }: Published): void {
    this.#earlier.recordLease(lease);
    const usable = usableMessageId(messageId);
    const own = newAttempt(requestId, locationId, usable, lease.epoch);
    if (usable === undefined || !this.#isEnabled(requestId)) {
      this.#attempts.remember(requestId, { attempt: own, isRepeat: false, isReported: false });
      return;
    }
    const attempt = this.#attempts.addPublished(own, lease);
    if (attempt !== undefined) this.#sender.sendPending(requestId, attempt, lease);
  }

  // Not async, for the reason given in the CRM client's `attempt`.
  reported(lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome> {
    this.#earlier.recordLease(lease);
    const { suspects } = this.#deps;
    // Without an error the Mac has written nothing that goes into a call.
    if (suspects === undefined || frame.error === undefined) return this.#handle(lease, frame);
    // It is a suspect already, and this text is ours.
    if (frame.error.code === 'SET_ASIDE') return this.#handle(lease, { ...frame, error: AGENT_ENDED });
    const id = frame.messageId ?? frame.requestId;
    const name = { kind: 'outbound', locationId: lease.locationId, id } as const;
    return suspects
      .handle(
        name,
        () => this.#handle(lease, frame),
        (ack) => ack !== 'retry',
      )
      .then((ack) => (ack === SET_ASIDE ? this.#handle(lease, { ...frame, error: UNREPORTED }) : ack));
  }

  #handle(lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome> {
    const request = this.#attempts.requestOf(frame.requestId);
    return request === undefined
      ? this.#recallAndHandle(lease, frame)
      : this.#handleReport(request, lease, frame);
  }

  async #recallAndHandle(lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome> {
    const request = await this.#earlier.recall(lease, frame);
    if (request === undefined) return { outcome: 'rejected', reason: 'this request is not known here' };
    return this.#handleReport(request, lease, frame);
  }

  #handleReport(request: KnownRequest, lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome> {
    if (request.attempt.locationId !== lease.locationId)
      return Promise.resolve({ outcome: 'rejected', reason: 'this request belongs to another location' });
    return frame.error?.code === 'SET_ASIDE' && frame.error !== UNREPORTED
      ? this.#setAside(request, lease, frame)
      : this.#handleOutcome(request, lease, frame);
  }

  /** First, so that the next webhook for the message is rejected. The Mac reports it again when this fails. */
  async #setAside(request: KnownRequest, lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome> {
    const { suspects, log } = this.#deps;
    const id = request.attempt.messageId ?? frame.requestId;
    // Only the Mac says that there is such a message.
    if (request.attempt.restored === 'unverified') return this.#handleOutcome(request, lease, frame);
    try {
      await suspects?.setAside({ kind: 'outbound', locationId: lease.locationId, id });
    } catch (error) {
      const { requestId } = frame;
      log.warn({ event: 'status.not_set_aside', requestId, err: error }, 'message not set aside');
      return 'retry';
    }
    return this.#handleOutcome(request, lease, frame);
  }

  #handleOutcome(request: KnownRequest, lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome> {
    const { status, error, guid } = frame;
    if (!request.isReported)
      this.#deps.journal.step(frame.requestId, 'mac_reported', {
        state: status,
        ...(error && { code: error.code }),
        detail: { status, ...(guid !== undefined && { guid }) },
      });
    const attempt = this.#attempts.addReport(request, frame);
    if (attempt === undefined) return Promise.resolve({ outcome: 'skipped' });
    if (attempt.terminal !== undefined) {
      attempt.delivery?.takeOver(lease);
      return attempt.terminal;
    }
    attempt.outcome = status;
    attempt.terminal = this.#sender.sendTerminal(attempt, lease, frame);
    return attempt.terminal;
  }

  rejected({ requestId, locationId, messageId, code, message }: Rejected): void {
    const usable = usableMessageId(messageId);
    if (usable === undefined || !this.#isEnabled(requestId)) return;
    const own = newAttempt(requestId, locationId, usable, NO_LEASE);
    if (this.#attempts.addRejected(own)) this.#sender.sendRejection(own, { code, message });
  }

  endCalls(locationId: string): Promise<number> {
    return this.#queue.endCalls(locationId);
  }

  endRejections(locationId: string, messageId: string): Promise<void> {
    return this.#queue.withdrawRejections(messageKey(locationId, messageId));
  }

  statusOf(locationId: string, messageId: string): Promise<ReportedStatus | undefined> {
    return this.#attempts.statusOf(locationId, messageId);
  }

  async close(): Promise<void> {
    this.#closed.cancel();
    await this.#queue.close();
  }

  #isEnabled(requestId: string): boolean {
    if (!this.#deps.oauthReady)
      this.#deps.log.info(
        { event: 'status.skipped', requestId, reason: 'oauth_not_configured' },
        'status callbacks skipped',
      );
    return this.#deps.oauthReady && !this.#closed.isCancelled;
  }
}
