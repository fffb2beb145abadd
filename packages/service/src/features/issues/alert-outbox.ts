import type { Alert, ReceiverName } from './alerts.ts';

export interface EnqueueOptions {
  /** An issue that is still open this long after its last alert gets a reminder; null: never. */
  readonly reminderMs: number | null;
  /** Divides the changes of one moment into alerts. Every change must be in exactly one of them. */
  readonly group: (changes: Alert['changes']) => readonly Alert['changes'][];
}

export interface ClaimedAlert {
  readonly alert: Alert;
  /** The attempts so far, without this one. */
  readonly attempts: number;
  readonly createdAt: number;
}

/** What is known about the alerts of a receiver. */
export interface ReceiverState {
  readonly pending: number;
  readonly lastSentAt: number | null;
  /** Why the last attempt for the oldest alert failed, if it did. */
  readonly lastError: string | null;
}

/**
 * The alerts that wait for their receivers, shared by all nodes.
 *
 * - `enqueue` makes an alert for each change of an issue that has none yet for this receiver. A change gets one alert per receiver, however many
 *   nodes call it and wherever they crash: the change and its alert are written in one transaction. A new receiver is told about the issues that are
 *   open, not about those that were closed before.
 *   An issue that opened again is told once more as a reminder, and then as closed once it has been closed for `SAME_ISSUE_MS`. Changes about a
 *   license wait while the receiver was told about it `MAX_TIMES_AN_HOUR` times within an hour.
 * - `claim` resolves with the oldest alert of a receiver that was not sent, if its time has come and no other node has claimed it. Alerts of a
 *   receiver are therefore sent one at a time, in order. A claim ends with `sent`, `failed` or `giveUp`, or after `CLAIM_MS` when its node is gone;
 *   without other nodes, it ends as soon as its process is gone.
 * - Every method rejects with EngineError when the database is unavailable.
 */
export interface AlertOutbox {
  enqueue(receiver: ReceiverName, options: EnqueueOptions): Promise<void>;
  claim(receiver: ReceiverName, node: string): Promise<ClaimedAlert | undefined>;
  sent(id: string): Promise<void>;
  failed(id: string, reason: string, retryInMs: number): Promise<void>;
  giveUp(id: string, reason: string): Promise<void>;
  stateOf(receiver: ReceiverName): Promise<ReceiverState>;
  /** Deletes alerts that were sent or given up before this time, and the changes of issues that no longer exist. */
  prune(before: number): Promise<void>;
}

/** Much longer than an attempt: the clocks of nodes may differ by minutes. */
export const CLAIM_MS = 300_000;
