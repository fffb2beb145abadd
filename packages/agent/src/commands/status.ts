import { existsSync } from 'node:fs';

import { openAgentJournal } from '../agent.ts';
import { isLocked, journalPath } from '../edges/data-dir.ts';
import { readLinkState } from '../flows/link/link-state.ts';
import { readStoreState } from '../flows/inbound/store-state.ts';
import type { SavedLinkState } from '../flows/link/link-state.ts';
import type { Journal } from '../ports/journal/journal.ts';
import { EXIT } from './exit-codes.ts';
import type { Output } from './output.ts';

/** Prints the state of the agent in a data folder, running or not. */
export function status(dataDir: string, output: Output): number {
  if (!existsSync(journalPath(dataDir))) {
    output.problem(`There is no agent in ${dataDir}. Start one with: footbridge-agent run --simulate`);
    return EXIT.failed;
  }
  const running = isLocked(dataDir);
  const journal = openAgentJournal(dataDir);
  try {
    const link: SavedLinkState = readLinkState(journal) ?? { state: 'never connected' };
    const queue = journal.jobs.pendingCount();
    const inboundWaiting = journal.inbox.pending().length;
    const { unacknowledged, rejected, setAside } = journal.outbox.counts();
    const store = readStoreState(journal);
    const isWritable = canWrite(journal);
    const data = {
      running,
      link,
      store: store?.state ?? 'unknown',
      journal: isWritable ? 'writable' : 'not writable',
      queue,
      unacknowledged,
      rejected,
      setAside,
      inboundWaiting,
    };
    output.result(
      data,
      [
        `agent     ${running ? 'running' : 'not running'}`,
        `link      ${describeLink(link, running)}`,
        `store     ${store?.meaning ?? 'not read yet'}`,
        `journal   ${isWritable ? 'writable' : 'not writable: free disk space on this Mac; nothing is lost until then'}`,
        `queue     ${queue} waiting to be sent`,
        `outbox    ${unacknowledged} not acknowledged by the service, ${inboundWaiting} waiting for attachments`,
        `rejected  ${rejected} by the CRM, ${setAside} that cannot be delivered`,
      ].join('\n'),
    );
    return running && link.state === 'registered' ? EXIT.done : EXIT.failed;
  } finally {
    journal.close();
  }
}

/** Whether the journal can be saved. It cannot on a full disk, and then the agent cannot save what it knows either. */
function canWrite(journal: Journal): boolean {
  try {
    journal.setNote('status', new Date().toISOString());
    return true;
  } catch {
    return false;
  }
}

function describeLink({ state, because }: SavedLinkState, running: boolean): string {
  const reason = because === undefined ? '' : `: ${because}`;
  return running ? `${state}${reason}` : `${state} when the agent stopped${reason}`;
}
