import { contentKeyOfRow } from '../../ports/messages/content-key.ts';
import type { StoredRow } from '../../ports/messages/messages.ts';
import type { ReceiverDeps } from './receiver-deps.ts';

const RECHECK_MS = 100;
/** How long a row waits for its own send, and for the job in progress, to end. Only then is the guid of that job recorded. */
const MAX_WAIT_MS = 30_000;
/** An engine can send a message twice, so a second row with the same content soon after a send is not from the owner. */
const RECENT_MS = 10 * 60_000;
/** The row of a send with an unknown outcome can appear this much later. */
const UNFINISHED_MS = 3 * 24 * 3_600_000;

/**
 * Resolves with true when the owner typed an outgoing message, on this Mac or another device, and the message was sent. In doubt, the
 * message counts as sent by the agent: a message missing from the CRM does less harm than a duplicate. Resolves with undefined when the
 * agent stops first.
 */
export async function isTypedByOwner(
  row: StoredRow,
  { messages, journal, clock }: Pick<ReceiverDeps, 'messages' | 'journal' | 'clock'>,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const content = contentKeyOfRow(row);
  const since = clock.monotonic();
  while (!signal.aborted) {
    const now = clock.now();
    const times = { recentlyAt: now - RECENT_MS, unfinishedAt: now - UNFINISHED_MS };
    if (journal.jobs.mayHaveSent({ guid: row.guid, content, ...times })) return false;
    const state = messages.store.sendState(row.guid);
    if (state === undefined || state.error !== 0) return false;
    const isOver = clock.monotonic() - since >= MAX_WAIT_MS;
    if (isOver || (state.sent && journal.jobs.interrupted().length === 0))
      return state.sent && hasContent(row);
    await clock.sleep(RECHECK_MS, signal);
  }
  return undefined;
}

function hasContent({ text, attachments }: StoredRow): boolean {
  return text.trim() !== '' || attachments.length > 0;
}
