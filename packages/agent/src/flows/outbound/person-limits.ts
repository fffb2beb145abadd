import type { MessageStore, StoredRow } from '../../ports/messages/messages.ts';
import type { Held } from './held-jobs.ts';

const DAY_MS = 24 * 3_600_000;
/** Unanswered texts older than this do not count. */
const SILENCE_MS = 30 * DAY_MS;
const LOOP_MS = 10 * 60_000;
/** Covers the largest limits that can be set, even if every message was tried with two services. */
const MAX_ROWS = 200;

export interface PersonLimits {
  /** The maximum number of texts to one person without a reply. 0: no limit. */
  readonly maxUnanswered: number;
  /** The maximum number of answers to one person in ten minutes, which two programs that keep replying to each other exceed. 0: no limit. */
  readonly maxAnswers: number;
}

/** Returns the limit that is reached for this person, according to the message store. */
export function personLimit(
  handle: string,
  { maxUnanswered, maxAnswers }: PersonLimits,
  store: Pick<MessageStore, 'history' | 'sendState'>,
  now: number,
): Held | undefined {
  if (maxUnanswered === 0 && maxAnswers === 0) return undefined;
  const rows = store
    .history(handle, MAX_ROWS)
    .filter((row) => !row.fromMe || (row.tapback === undefined && wasSent(row, store)));
  const unanswered = maxUnanswered > 0 ? sentSinceReply(rows, now - SILENCE_MS) : [];
  const silent = unanswered[maxUnanswered - 1];
  if (silent !== undefined) {
    const limit = `sent this person ${maxUnanswered} messages without a reply`;
    return { state: 'held', limit, slotAt: Math.min(silent, now) + SILENCE_MS };
  }
  const answer = maxAnswers > 0 ? answersSince(rows, now - LOOP_MS)[maxAnswers - 1] : undefined;
  if (answer !== undefined) {
    const limit = `answered this person ${maxAnswers} times in ten minutes`;
    return { state: 'held', limit, slotAt: Math.min(answer, now) + LOOP_MS };
  }
  return undefined;
}

/** Returns the times of the messages sent after the newest reply, newest first. */
function sentSinceReply(rows: readonly StoredRow[], since: number): number[] {
  const reply = rows.findIndex((row) => !row.fromMe);
  return datedSince(reply === -1 ? rows : rows.slice(0, reply), since);
}

/** Returns the times of the sent messages that directly follow one from the person, newest first. */
function answersSince(rows: readonly StoredRow[], since: number): number[] {
  return datedSince(
    rows.filter((row, index) => row.fromMe && rows[index + 1]?.fromMe === false),
    since,
  );
}

function datedSince(rows: readonly StoredRow[], since: number): number[] {
  return rows.flatMap(({ sentAt }) => (sentAt !== undefined && sentAt > since ? [sentAt] : []));
}

/** A failed row did not reach the person: before the SMS to a number that is not on iMessage, Messages stores such a row. */
function wasSent(row: StoredRow, store: Pick<MessageStore, 'sendState'>): boolean {
  return (store.sendState(row.guid)?.error ?? 0) === 0;
}
