import type { AgentConfig } from '../../config/config.ts';
import { AGENT_VERSION } from '../../config/version.ts';
import { readLinkState } from '../../flows/link/link-state.ts';
import { readMacState } from '../../flows/link/mac-state.ts';
import type { Journal } from '../../journal/journal.ts';
import { PERMISSIONS, StoreUnavailableError } from '../../ports/messages/messages.ts';
import type { Messages } from '../../ports/messages/messages.ts';
import type { AgentReport } from './local-calls.ts';

export function agentReport(
  config: Pick<AgentConfig, 'location' | 'engine' | 'uiAutomation'>,
  messages: Messages,
  journal: Journal,
  now: number,
): AgentReport {
  const { type: _type, ...state } = readMacState(messages, journal, now);
  const store = messages.store.state();
  const sentAt = newestMessageAt(messages);
  return {
    version: AGENT_VERSION,
    location: config.location,
    link: readLinkState(journal) ?? { state: 'connecting' },
    store,
    newestMessageAgeSec: sentAt === undefined ? null : Math.max(0, Math.floor((now - sentAt) / 1000)),
    engine: config.engine,
    uiAutomation: config.uiAutomation && config.engine === 'macos',
    grantedBefore: PERMISSIONS.filter((permission) => journal.note(permission) === 'granted'),
    state,
  };
}

function newestMessageAt({ store }: Messages): number | undefined {
  try {
    return store.row(store.newestRowid())?.sentAt;
  } catch (error) {
    if (error instanceof StoreUnavailableError) return undefined;
    throw error;
  }
}
