import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import type { Journal } from '../../journal/journal.ts';

export type LinkState =
  | { readonly state: 'connecting' }
  | { readonly state: 'registered'; readonly sessionId: string }
  | { readonly state: 'waiting'; readonly because: string; readonly ms: number }
  /** The service told the agent not to reconnect, or rejected it. A person must act. */
  | {
      readonly state: 'away';
      /** A close code, or the code of a failed activation. */
      readonly code: number | string;
      readonly because: string;
    }
  | { readonly state: 'stopped' };

/** The last saved state, as `footbridge-agent status` shows it. */
export interface SavedLinkState {
  readonly state: string;
  readonly at?: string;
  readonly because?: string;
  readonly code?: number | string;
}

const NOTE = 'link';

/** Logs a state change and saves it for `footbridge-agent status`. */
export function recordLinkState(
  state: LinkState,
  deps: { readonly journal: Journal; readonly log: Log; readonly clock: Clock; readonly locationId: string },
): void {
  const { journal, log, clock, locationId } = deps;
  try {
    journal.setNote(NOTE, JSON.stringify({ ...state, at: new Date(clock.now()).toISOString() }));
  } catch (error) {
    // A full disk must not end the connection: only `status` reads this note.
    log.error({ event: 'journal.link_state_not_saved', err: error }, 'link state not saved');
  }
  if (state.state === 'registered') {
    log.info({ event: 'link.registered', locationId, sessionId: state.sessionId }, 'registered');
  } else if (state.state === 'waiting') {
    log.info({ event: 'link.not_connected', because: state.because, waitMs: state.ms }, 'not connected');
  } else if (state.state === 'away') {
    log.error({ event: 'link.staying_away', code: state.code, because: state.because }, 'staying away');
  }
}

export function readLinkState(journal: Journal): SavedLinkState | undefined {
  const note = journal.note(NOTE);
  const value: unknown = note === undefined ? undefined : JSON.parse(note);
  if (typeof value !== 'object' || value === null || !('state' in value)) return undefined;
  return {
    state: String(value.state),
    ...('at' in value ? { at: String(value.at) } : {}),
    ...('because' in value ? { because: String(value.because) } : {}),
    ...('code' in value && (typeof value.code === 'number' || typeof value.code === 'string')
      ? { code: value.code }
      : {}),
  };
}
