import type { Clock } from '@footbridge/runtime/clock';

import { outcomeOfRows } from '../find-outcome.ts';
import { StoreUnavailableError } from '../messages.ts';
import type { Destination, MessageStore, OutgoingMessage } from '../messages.ts';
import { findSentRows } from '../own-rows.ts';
import type { SentRows } from '../own-rows.ts';
import { certainFailure } from './certain-failures.ts';
import type { Reply } from './server-client.ts';
import type { Outcome } from '../../../outcome.ts';

const POLL_MS = 50;

export interface Limits {
  /** How long to wait for the response. The server's own timeouts add up to 185 s for a text. */
  readonly replyMs: number;
  /** How long to wait for the row, or for its outcome, after the response. */
  readonly rowAfterReplyMs: number;
  /** How long to wait for the response after the row shows the outcome. The response names the row, and a second copy may follow. */
  readonly replyAfterRowMs: number;
  /** How long to look for a row after a refusal: the command may still have been carried out. */
  readonly certainMs: number;
  /** How long to wait for the row of an interrupted call, which the server completes. */
  readonly recoveryMs: number;
}

export interface Expected {
  readonly message: OutgoingMessage;
  readonly destination: Destination;
  /** The position of the store before the call. */
  readonly since: number;
  /** The call starts a conversation. */
  readonly startsChat: boolean;
}

export interface CallOutcome {
  readonly outcome: Outcome;
  /** The GUIDs of the rows with this content in this conversation. Several GUIDs mean that the message was sent several times. */
  readonly guids: readonly string[];
}

/**
 * Waits for the outcome of a call that sends. The row in the store decides. The response only names the row, and shows which failures are
 * certain. Status 500 and 504 regularly follow a successful send.
 */
export async function awaitOutcome(
  call: Promise<Reply>,
  expected: Expected,
  limits: Limits,
  { store, clock }: { readonly store: MessageStore; readonly clock: Clock },
): Promise<CallOutcome> {
  const arrival = new AbortController();
  let arrived: { readonly reply: Reply; readonly at: number } | undefined;
  void call.then((reply) => {
    arrived = { reply, at: clock.monotonic() };
    arrival.abort();
  });
  const started = clock.monotonic();
  let decidedAt: number | undefined;
  for (;;) {
    const now = clock.monotonic();
    const seen = read(store, expected, arrived?.reply);
    if (seen.outcome.state !== 'unknown') {
      decidedAt ??= now;
      if (arrived !== undefined || now - decidedAt >= limits.replyAfterRowMs) return seen;
    } else if (arrived !== undefined) {
      const waitedMs = now - arrived.at;
      const { certainMs } = limits;
      const { startsChat } = expected;
      const certain = certainFailure(arrived.reply, { waitedMs, certainMs, startsChat });
      if (certain !== undefined && seen.guids.length === 0) return { outcome: certain, guids: [] };
      if (waitedMs >= limits.rowAfterReplyMs) return seen;
    }
    if (now - started >= limits.replyMs + limits.rowAfterReplyMs) return seen;
    await clock.sleep(POLL_MS, arrived === undefined ? arrival.signal : undefined);
  }
}

function read(store: MessageStore, expected: Expected, reply: Reply | undefined): CallOutcome {
  try {
    const { message, destination, since } = expected;
    const rows = findSentRows(store, message, destination, since);
    const guids = rows?.here.map((row) => row.guid) ?? [];
    return { outcome: outcomeOfRows(onlyNamed(rows, reply), store), guids };
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    const message = `outcome unknown: the message store cannot be read (${error.problem})`;
    return { outcome: { state: 'unknown', code: 'TIMEOUT', message }, guids: [] };
  }
}

/**
 * Keeps only the row that the response names, if that row is among `rows`. The helper names the last message of the chat, which can be an
 * older message or a message of another chat. Such a GUID is ignored.
 */
function onlyNamed(rows: SentRows | undefined, reply: Reply | undefined): SentRows | undefined {
  const guid = reply?.kind === 'reply' ? guidIn(reply.data) : undefined;
  const named = rows?.here.filter((row) => row.guid === guid) ?? [];
  return rows === undefined || named.length === 0 ? rows : { ...rows, here: named };
}

/** Returns the GUID in `data`, which is a message or a new chat with its first message. */
function guidIn(data: unknown): unknown {
  if (typeof data !== 'object' || data === null) return undefined;
  if (!('messages' in data)) return 'guid' in data ? data.guid : undefined;
  return Array.isArray(data.messages) ? guidIn(data.messages[0]) : undefined;
}
