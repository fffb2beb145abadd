import type { StateFrame } from '@footbridge/protocol/frames';

import type { Journal } from '../../journal/journal.ts';
import type { Messages, MessageStore, StoreState } from '../../ports/messages/messages.ts';

type Permission = 'granted' | 'denied' | 'unknown';

/** A store that was opened proves Full Disk Access. An absent store proves nothing. */
const FULL_DISK: Readonly<Record<StoreState, Permission>> = {
  readable: 'granted',
  replaced: 'granted',
  empty: 'granted',
  corrupt: 'granted',
  locked: 'granted',
  denied: 'denied',
  absent: 'unknown',
};

/** The states of the store that no other field of the report shows. */
const UNREADABLE = new Set<StoreState>(['absent', 'corrupt', 'locked']);

/** The state that only the running agent knows. */
export interface LineState {
  readonly pacing?: StateFrame['pacing'] | undefined;
  readonly canary?: StateFrame['canary'] | undefined;
}

/** Returns what the operator needs to know about this Mac, without any text, phone number or message id. */
export function readMacState(
  messages: Pick<Messages, 'environment' | 'capabilities'> & { readonly store: Pick<MessageStore, 'state'> },
  journal: Pick<Journal, 'jobs' | 'inbox'>,
  now: number,
  { pacing, canary }: LineState = {},
): StateFrame {
  const { macos, report = {} } = messages.environment();
  const { build, permissions, session } = report;
  const store = messages.store.state();
  const oldestAt = journal.jobs.oldestPendingAt();
  return {
    type: 'state',
    capabilities: messages.capabilities(),
    macos: { version: macos, ...(build !== undefined && { build }) },
    permissions: {
      fullDisk: FULL_DISK[store],
      automation: permissions?.automation ?? 'unknown',
      accessibility: permissions?.accessibility ?? 'unknown',
    },
    messages: {
      ...report.messages,
      // Messages creates its tables when a person signs in.
      ...(store === 'empty' && { signedIn: false }),
      ...(UNREADABLE.has(store) && { store }),
    },
    ...(session !== undefined && { session }),
    queue: {
      pending: journal.jobs.pendingCount(),
      oldestSec: oldestAt === undefined ? 0 : Math.max(0, Math.floor((now - oldestAt) / 1000)),
    },
    ...(pacing !== undefined && { pacing }),
    ...(canary !== undefined && { canary }),
    lastSentAt: isoTime(journal.jobs.lastDeliveredAt()),
    lastReceivedAt: isoTime(journal.inbox.lastSeenAt()),
  };
}

const isoTime = (at: number | undefined) => (at === undefined ? null : new Date(at).toISOString());
