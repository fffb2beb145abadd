import { existsSync } from 'node:fs';

import { isLocked, journalPath } from '../edges/data-dir.ts';
import { EXIT } from './exit-codes.ts';
import type { Output } from './output.ts';
import { openJournal } from '../ports/journal/journal-sqlite.ts';

/** What the agent of this folder is doing, or was doing last. Reads along while it runs. */
export function status(dataDir: string, output: Output): number {
  if (!existsSync(journalPath(dataDir))) {
    output.problem(`There is no agent in ${dataDir}. Start one with: footbridge-agent run`);
    return EXIT.failed;
  }
  const running = isLocked(dataDir);
  const journal = openJournal(journalPath(dataDir));
  try {
    const link = readLink(journal.note('link'));
    const queue = journal.jobs.pendingCount();
    const inboundWaiting = journal.inbox.pending().length;
    const { unacknowledged, rejected, setAside } = journal.outbox.counts();
    const data = { running, link, queue, unacknowledged, rejected, setAside, inboundWaiting };
    output.result(
      data,
      [
        `agent       ${running ? 'running' : 'not running'}`,
        `link        ${running ? link.state : `${link.state} when it stopped`}${link.because === undefined ? '' : `: ${link.because}`}`,
        `queue       ${queue} waiting to be sent`,
        `to service  ${unacknowledged} not yet acknowledged, ${inboundWaiting} being prepared`,
        `kept        ${rejected} refused by the CRM, ${setAside} that cannot be delivered`,
      ].join('\n'),
    );
    return running && link.state === 'registered' ? EXIT.done : EXIT.failed;
  } finally {
    journal.close();
  }
}

interface NotedLink {
  readonly state: string;
  readonly at?: string;
  readonly because?: string;
  readonly code?: number | string;
}

function readLink(noted: string | undefined): NotedLink {
  const value: unknown = noted === undefined ? undefined : JSON.parse(noted);
  if (typeof value !== 'object' || value === null || !('state' in value)) return { state: 'never connected' };
  return {
    state: String(value.state),
    ...('at' in value ? { at: String(value.at) } : {}),
    ...('because' in value ? { because: String(value.because) } : {}),
    ...('code' in value && (typeof value.code === 'number' || typeof value.code === 'string')
      ? { code: value.code }
      : {}),
  };
}
