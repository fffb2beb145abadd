import type { MessageReceivedFrame, MessageStatusFrame, SendFrame } from '@footbridge/protocol/frames';

/**
 * What the Mac remembers across a crash, a restart and thirty days.
 *
 * A process that is killed at any line finds, when it starts again, either all of a write or nothing of it. Writes that
 * somebody else relies on survive a power cut too: a request that was taken, a send that is about to begin, a frame that
 * is about to leave. The others are caught up by the next of those. Calls are synchronous on purpose: between two of them
 * nothing else of the agent runs, so a check and the write that follows it cannot be torn apart.
 *
 * A journal whose disk fails throws; it never pretends to have forgotten or kept something.
 */
export interface Journal {
  readonly jobs: Jobs;
  readonly outbox: Outbox;
  readonly inbox: Inbox;
  /** Runs the work as one write: if it throws, nothing of it happened. */
  atomically<T>(work: () => T): T;
  /** The same, and a power cut does not undo it. */
  durably<T>(work: () => T): T;
  /** Small facts for `status`, such as the state of the link. */
  note(name: string, value: string): void;
  noted(name: string): string | undefined;
  /** Ended jobs, rejected frames and remembered guids from before this time are dropped. */
  forget(before: number): void;
  /** What was erased from the tables leaves the disk as well. */
  sweep(): void;
  close(): void;
}

/**
 * `queued` waits for its turn · `begun` is the one under way · `delivered` and `failed` are final answers ·
 * `unknown` had begun to send when the process died or Messages stopped answering: nobody can say whether the person
 * received it, so it is never sent again.
 */
export type JobState = 'queued' | 'begun' | 'delivered' | 'failed' | 'unknown';

export interface Failure {
  readonly code: string;
  readonly message: string;
}

export interface Job {
  /** The `messageId`, or the `requestId` of a request that has none; the two cannot collide. */
  readonly key: string;
  readonly messageId: string | null;
  /** Tells apart two requests under one `messageId` (M4) without keeping the text. */
  readonly fingerprint: string;
  readonly state: JobState;
  /** What to do; erased, text and all, when the job ends. */
  readonly frame: SendFrame | undefined;
  readonly guid: string | undefined;
  readonly error: Failure | undefined;
}

export type JobEnd =
  | { readonly state: 'delivered'; readonly guid: string | undefined }
  | { readonly state: 'failed' | 'unknown'; readonly error: Failure };

/** Outbound work, in the order in which it came. */
export interface Jobs {
  find(key: string): Job | undefined;
  /** The job that a request asked for, also when another request had asked for it before. */
  ofRequest(requestId: string): Job | undefined;
  /** Puts a job at the end of the queue; one that had ended before starts anew with the steps it had finished. */
  enqueue(key: string, fingerprint: string, frame: SendFrame, now: number): void;
  /** A further request wants to hear how this job ends. */
  attach(requestId: string, key: string, now: number): void;
  /** Jobs that have not ended, the one under way included. */
  pending(): number;
  next(): Job | undefined;
  /** Left over from a process that died. */
  interrupted(): Job[];
  begin(key: string): void;
  /** Back to the queue at its old place. */
  requeue(key: string): void;
  end(key: string, end: JobEnd, now: number): void;
  /** The requests that have not been answered since the job was last enqueued; they count as answered from now on. */
  takeUnanswered(key: string): string[];

  /** One job may be several sends (a text and two files): each is a step that happens at most once. */
  step(key: string, step: string): Step | undefined;
  /** Durable: what follows cannot be taken back. */
  beginStep(key: string, step: string, watermark: number): void;
  finishStep(key: string, step: string, guid: string): void;
  /** The step failed before anything was sent: it may be tried again. */
  dropStep(key: string, step: string): void;
  /** Steps that began and were not finished. */
  openSteps(key: string): Step[];
}

export interface Step {
  readonly name: string;
  readonly done: boolean;
  readonly guid: string | undefined;
  /** The newest row of the message store before the send began. */
  readonly watermark: number;
}

export type OutboxFrame = Omit<MessageStatusFrame, 'seq'> | Omit<MessageReceivedFrame, 'seq'>;

export interface OutboxEntry {
  readonly seq: number;
  /** Ready for the wire. */
  readonly text: string;
}

export interface OutboxCounts {
  readonly unacknowledged: number;
  readonly rejected: number;
  readonly setAside: number;
}

/** Frames for the service, each under a `seq` that is never used again. */
export interface Outbox {
  /** Durable: a number that was seen outside is never given to another frame. */
  put(frame: OutboxFrame, now: number): number;
  /** Frames not yet acknowledged, oldest first, with a `seq` above `after`. */
  unacknowledged(after: number, limit: number): OutboxEntry[];
  /** Done with: the frame is dropped. False when no such frame was waiting. */
  acknowledge(seq: number): boolean;
  /** The CRM refused it for good: kept for `redeliver`. False when no such frame was waiting. */
  reject(seq: number, reason: string, now: number): boolean;
  /** It cannot be sent as it is: kept, never sent by itself. */
  setAside(seq: number, reason: string, now: number): boolean;
  /** A rejected or set-aside frame goes out again; the answer is its new `seq`. */
  redeliver(seq: number, now: number): number | undefined;
  counts(): OutboxCounts;
}

export interface HeldRow {
  readonly rowid: number;
  readonly guid: string;
  readonly heldSince: number;
}

/** How far the message store has been read. */
export interface Inbox {
  /** The newest row that was read, in the store of that identity; undefined when another store was read, or none. */
  cursor(store: string): number | undefined;
  moveCursor(store: string, rowid: number): void;
  /** A row that has been read and whose frame is not in the outbox yet. */
  hold(row: HeldRow): void;
  held(): HeldRow[];
  release(rowid: number): void;
  /** Remembers a guid for good: false when it was known, so the row is a duplicate. */
  remember(guid: string, now: number): boolean;
  knows(guid: string): boolean;
}
