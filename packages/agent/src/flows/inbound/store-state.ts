import type { Journal } from '../../journal/journal.ts';
import type { StoreState } from '../../ports/messages/messages.ts';

const NOTE = 'store';

/** Saves the state of the message store for `footbridge-agent status`. */
export function recordStoreState(state: StoreState, journal: Journal): void {
  if (journal.note(NOTE) !== state) journal.setNote(NOTE, state);
}

/** What a state means for the owner of the Mac, and what to do. */
const MEANING: Readonly<Record<StoreState, string>> = {
  readable: 'readable',
  replaced: 'readable, and replaced since the agent started: chat ids from before are unknown',
  denied: 'denied: allow Full Disk Access for the agent in System Settings, Privacy & Security',
  absent: 'absent: open Messages once and sign in',
  empty: 'empty: sign in to Messages',
  corrupt: 'corrupt: quit Messages and open it again, then restart the Mac',
  locked: 'locked by another program; the agent tries again',
};

/** Returns the saved state and its meaning, or undefined before the agent ran for the first time. */
export function readStoreState(journal: Journal): { state: string; meaning: string } | undefined {
  const state = journal.note(NOTE);
  if (state === undefined) return undefined;
  return { state, meaning: Object.entries(MEANING).find(([name]) => name === state)?.[1] ?? state };
}
