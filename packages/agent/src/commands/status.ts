import { existsSync } from 'node:fs';

import { isLocked, journalPath } from '../edges/data-dir.ts';
import type { AgentReport } from '../edges/local-socket/local-calls.ts';
import { reasonToStayAway } from '../edges/stay-away.ts';
import { readStoreState } from '../flows/inbound/store-state.ts';
import { readLinkState } from '../flows/link/link-state.ts';
import type { SavedLinkState } from '../flows/link/link-state.ts';
import { openAgentJournalAsIs } from '../open/journal.ts';
import type { Journal } from '../journal/journal.ts';
import { describeAge } from './check-agent.ts';
import { EXIT } from './exit-codes.ts';
import type { Output } from './output.ts';
import { reportOf } from './restart-agent.ts';

/** Prints the state of the agent in a data folder, whether the agent runs or not. */
export async function status(dataDir: string, output: Output): Promise<number> {
  if (!existsSync(journalPath(dataDir))) {
    output.problem(
      `There is no agent in ${dataDir}. Next: footbridge-agent setup on a Mac, or footbridge-agent run`,
    );
    return EXIT.failed;
  }
  const running = isLocked(dataDir);
  const report = running ? await reportOf(dataDir) : undefined;
  const journal = openAgentJournalAsIs(dataDir);
  try {
    const link: SavedLinkState = readLinkState(journal) ?? { state: 'never connected' };
    const queue = journal.jobs.pendingCount();
    const inboundWaiting = journal.inbox.pending().length;
    const { unacknowledged, rejected, setAside } = journal.outbox.counts();
    const store = readStoreState(journal);
    const isWritable = canWrite(journal);
    const missing = running ? whatIsMissing(link, report) : [whyNotRunning(dataDir)];
    const data = {
      running,
      ableToText: missing.length === 0,
      missing,
      link,
      store: store?.state ?? 'unknown',
      journal: isWritable ? 'writable' : 'not writable',
      queue,
      unacknowledged,
      rejected,
      setAside,
      inboundWaiting,
      ...(report !== undefined && { version: report.version, state: report.state }),
    };
    output.result(
      data,
      [
        `agent     ${running ? `running${report === undefined ? '' : `, version ${report.version}`}` : 'not running'}`,
        `texts     ${missing.length === 0 ? 'can be sent and received' : `cannot be sent and received: ${missing.join(', ')}`}`,
        `link      ${describeLink(link, running)}`,
        `store     ${store?.meaning ?? 'not read yet'}`,
        `journal   ${isWritable ? 'writable' : 'not writable: free disk space on this Mac; nothing is lost until then'}`,
        `queue     ${queue} waiting to be sent`,
        `last      ${describeLast(report)}`,
        `outbox    ${unacknowledged} not acknowledged by the service, ${inboundWaiting} waiting for attachments`,
        `rejected  ${rejected} by the CRM, ${setAside} that cannot be delivered`,
        ...(missing.length === 0 ? [] : ['Next: footbridge-agent doctor']),
      ].join('\n'),
    );
    return running && link.state === 'registered' ? EXIT.done : EXIT.failed;
  } finally {
    journal.close();
  }
}

/** Whether the journal can be written. Tested here, because on a full disk the agent cannot save that its disk is full. */
function canWrite(journal: Journal): boolean {
  try {
    journal.setNote('status', new Date().toISOString());
    return true;
  } catch {
    return false;
  }
}

/** Returns what keeps this Mac from sending and receiving texts. */
function whatIsMissing(link: SavedLinkState, report: AgentReport | undefined): string[] {
  // Until the agent has started, an earlier process saved the state of the link.
  if (report === undefined) return ['the agent does not respond yet'];
  const { permissions, messages } = report.state;
  // The other states of the store have their own lines.
  const isBroken = ['absent', 'corrupt', 'locked'].includes(report.store);
  return [
    ...(link.state === 'registered' ? [] : ['no connection to the service']),
    ...(permissions?.fullDisk === 'denied' ? ['Full Disk Access is off'] : []),
    ...(isBroken ? [`the message store is ${report.store}`] : []),
    ...(permissions?.automation === 'denied' ? ['Automation is off'] : []),
    ...(messages?.signedIn === false ? ['Messages is not signed in'] : []),
  ];
}

function whyNotRunning(dataDir: string): string {
  const because = reasonToStayAway(dataDir);
  return because === undefined
    ? 'the agent is not running'
    : `the agent stopped and waits for a person (${because})`;
}

function describeLast(report: AgentReport | undefined): string {
  if (report === undefined) return 'known only while the agent runs';
  const { lastSentAt, lastReceivedAt } = report.state;
  const ago = (at: string | null | undefined) =>
    typeof at === 'string' ? `${describeAge((Date.now() - Date.parse(at)) / 1000)} ago` : 'not in 30 days';
  return `sent ${ago(lastSentAt)}, received ${ago(lastReceivedAt)}`;
}

function describeLink({ state, because }: SavedLinkState, running: boolean): string {
  const reason = because === undefined ? '' : `: ${because}`;
  return running ? `${state}${reason}` : `${state} when the agent stopped${reason}`;
}
