import type { MessageReceivedFrame, MessageStatusFrame, SendFrame } from '@footbridge/protocol/frames';

import type { JobOutcome } from '../outcome.ts';

/**
 * The agent's persistent state: outbound jobs, frames for the service and the read position in the message store.
 *
 * - A process killed at any point finds, after its restart, all of a transaction or none of it.
 * - A transaction that others rely on also survives a power cut: an accepted request, a send that is about to begin, a frame that is
 *   about to leave. Other writes become durable with the next such transaction.
 * - Calls are synchronous. No other code of the agent runs between a check and the write that follows it.
 * - A journal whose disk fails throws. It never returns stale or partial data.
 */
export interface Journal {
  readonly jobs: Jobs;
  readonly outbox: Outbox;
  readonly inbox: Inbox;
  /** Counts how often the process died while it worked on a message (I10). */
  readonly deaths: Deaths;
  /** Runs `work` in a transaction and returns its result. Rolls back and rethrows when `work` throws. */
  transaction<T>(work: () => T): T;
  /** Like `transaction`, and the result survives a power cut. */
  durableTransaction<T>(work: () => T): T;
  /** Saves a small value for `footbridge-agent status`, such as the state of the link. */
  setNote(name: string, value: string): void;
  note(name: string): string | undefined;
  /**
   * Deletes every job, frame and pending row. Reading starts again at the newest row of the message store. A `seq` is still never used
   * twice.
   */
  empty(): void;
  /** Deletes ended jobs, rejected and set-aside frames, seen guids and counted deaths from before this time. */
  prune(before: number): void;
  /** Checkpoints and truncates the write-ahead log, which still holds pages with deleted message texts. */
  walCheckpoint(): void;
  close(): void;
}

export interface Job {
  /** Made from the `messageId`, or else from the `requestId`. The two forms cannot collide. */
  readonly key: string;
  readonly messageId: string | null;
  /** Tells different requests with the same `messageId` apart (M4) without storing their text. */
  readonly fingerprint: string;
  /** The request, parsed when it is read. Deleted when the job ends, because it holds the message text. */
  readonly frame: SendFrame | undefined;
  /** Undefined while the job is queued or in progress. */
  readonly outcome: JobOutcome | undefined;
  /** When the job was queued, or when it ended. */
  readonly changedAt: number;
}

/** Outbound jobs, first in, first out. */
export interface Jobs {
  find(key: string): Job | undefined;
  /** Returns the job that a request is attached to. */
  findByRequest(requestId: string): Job | undefined;
  /** Appends a job to the queue. A job that had ended is queued again and keeps its finished steps. */
  enqueue(key: string, fingerprint: string, frame: SendFrame, now: number): void;
  /** Attaches a request to a job. The request gets a status when the job ends. */
  attachRequest(requestId: string, key: string, now: number): void;
  /** Number of jobs that have not ended, including the one in progress. */
  pendingCount(): number;
  /** When the oldest job that has not ended was queued. */
  oldestPendingAt(): number | undefined;
  /** Returns when the newest delivered job ended, unless it was pruned. */
  lastDeliveredAt(): number | undefined;
  next(): Job | undefined;
  /**
   * Returns the waiting jobs, in order. A job with an unfinished step comes first, because another send could make the outcome of that
   * step unrecognisable in the store.
   */
  queued(): Job[];
  /** Returns the jobs that began and did not end. After a start, a process that died left them. */
  interrupted(): Job[];
  begin(key: string): void;
  /** Returns a job to its previous place in the queue. */
  requeue(key: string): void;
  end(key: string, outcome: JobOutcome, now: number): void;
  /** Returns the attached requests that have no status yet and marks them as answered. */
  takeUnanswered(key: string): string[];

  /** A job consists of one or more sends (a text and two files). Each is a step that runs at most once. */
  findStep(key: string, step: string): Step | undefined;
  /** Durable: the send that follows cannot be undone. */
  beginStep(key: string, step: string, watermark: number, trace?: StepTrace): void;
  finishStep(key: string, step: string, guid: string): void;
  /** Removes a step that failed before anything was sent, so that it can run again. */
  discardStep(key: string, step: string): void;
  /** Whether a step of the job began. */
  hasSteps(key: string): boolean;
  /**
   * Whether a step caused or may have caused an outgoing row of the message store. Either the step has the guid of the row, or it has the
   * same content and began since `recentlyAt`. A step without a known guid counts if it began since `unfinishedAt`.
   */
  mayHaveSent(row: {
    readonly guid: string;
    readonly content: string;
    readonly recentlyAt: number;
    readonly unfinishedAt: number;
  }): boolean;
  /** Steps that began and did not finish. */
  unfinishedSteps(key: string): Step[];
}

/** Identifies the row of a step while its guid is not known. */
export interface StepTrace {
  /** See `contentKey`. */
  readonly content: string;
  /** The name of the file that the step sends. Deleted when the job ends. */
  readonly fileName?: string | undefined;
  readonly at: number;
}

export interface Step {
  readonly name: string;
  readonly done: boolean;
  readonly guid: string | undefined;
  readonly fileName: string | undefined;
  /** The position of the message store before the send began. */
  readonly watermark: number;
}

export type OutboxFrame = Omit<MessageStatusFrame, 'seq'> | Omit<MessageReceivedFrame, 'seq'>;

export interface OutboxEntry {
  readonly seq: number;
  /** The guid of a received message. Undefined for a status. */
  readonly guid: string | undefined;
  /** The serialized frame. */
  readonly text: string;
}

export interface OutboxCounts {
  readonly unacknowledged: number;
  readonly rejected: number;
  readonly setAside: number;
}

/** Frames for the service. A `seq` is never used twice. */
export interface Outbox {
  /** Adds a frame and returns its `seq`. Durable: a `seq` that was sent is never given to another frame. */
  put(frame: OutboxFrame, now: number): number;
  /** Returns unacknowledged frames with a `seq` above `after`, oldest first. */
  unacknowledged(after: number, limit: number): OutboxEntry[];
  /** Deletes an acknowledged frame. Returns false when no such frame was waiting. */
  acknowledge(seq: number): boolean;
  /** Keeps a frame for `redeliver` after the CRM rejected it. Returns false when no such frame was waiting. */
  reject(seq: number, reason: string, now: number): boolean;
  /** Keeps a frame for `redeliver` because it cannot be sent. Returns false when no such frame was waiting. */
  setAside(seq: number, reason: string, now: number): boolean;
  /** Queues a rejected or set-aside frame again and returns its new `seq`. */
  redeliver(seq: number, now: number): number | undefined;
  /**
   * Removes the rejected frame of a message that was set aside (I10), and calls `take` with the GUID of the message in the same
   * transaction. Returns false for any other frame.
   */
  takeSetAside(seq: number, take: (guid: string) => void): boolean;
  counts(): OutboxCounts;
}

export interface Deaths {
  all(): { readonly name: string; readonly deaths: number }[];
  /** Adds one and returns the sum. */
  add(name: string, now: number): number;
  remove(name: string): void;
}

/** A row of the message store whose frame is not in the outbox yet. Named by its guid, because a rebuilt store changes the row id. */
export interface PendingRow {
  readonly guid: string;
  readonly since: number;
}

export interface ReadingStart {
  readonly at: number;
  readonly generation: number;
}

/** The read position in the message store. */
export interface Inbox {
  /** Returns the newest row that was read from the store of this generation, or undefined if none was. */
  cursor(generation: number): number | undefined;
  moveCursor(generation: number, rowid: number): void;
  /** Returns when reading began and with which store, or undefined before that. In later stores, older messages are history. */
  began(): ReadingStart | undefined;
  begin(start: ReadingStart): void;
  addPending(row: PendingRow): void;
  /** Returns the pending rows in the order in which they were added. */
  pending(): PendingRow[];
  removePending(guid: string): void;
  /** Returns false when the guid was already marked: the row is a duplicate. `own`: the owner of the Mac sent it. */
  markSeen(guid: string, now: number, own?: boolean): boolean;
  hasSeen(guid: string): boolean;
  unmarkSeen(guid: string): void;
  /** Returns when the newest guid of a received message was marked, unless it was pruned. */
  lastSeenAt(): number | undefined;
}
