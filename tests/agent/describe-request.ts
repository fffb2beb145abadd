import type { LogLine } from '@footbridge/testkit/program';

import { openAgentJournal } from '@footbridge/agent/open/journal';
import type { ScriptedService } from './scripted-service.ts';

const MAX_EVENTS = 40;
const MAX_LOG_LINES = 20;

/** Returns everything that determines the status of a request: its job in the journal, the frames since it was sent, and the log of the agent. */
export function describeRequest(
  requestId: string,
  { service, agent }: { service: ScriptedService; agent: { dataDir: string; logs: readonly LogLine[] } },
): string {
  const first = service.history.findIndex((event) => event.requestId === requestId);
  const lines = {
    journal: [JSON.stringify(readJob(agent.dataDir, requestId))],
    frames: service.history.slice(first, first + MAX_EVENTS).map((event) => JSON.stringify(event)),
    log: agent.logs.slice(-MAX_LOG_LINES).map((line) => JSON.stringify(line)),
  };
  return Object.entries(lines)
    .flatMap(([name, found]) => [`${name}:`, ...found.map((line) => `  ${line}`)])
    .join('\n');
}

function readJob(dataDir: string, requestId: string): object {
  const journal = openAgentJournal(dataDir);
  try {
    const job = journal.jobs.findByRequest(requestId);
    const outbox = journal.outbox.unacknowledged(0, 1000).map(({ seq }) => seq);
    if (job === undefined) return { job: 'none', outbox };
    const { key, outcome } = job;
    const hasBegun = journal.jobs.interrupted().some((other) => other.key === key);
    const state = outcome?.state ?? (hasBegun ? 'begun' : 'queued');
    const code = outcome !== undefined && 'code' in outcome ? outcome.code : undefined;
    return { job: key, state, code, unfinished: journal.jobs.unfinishedSteps(key), outbox };
  } finally {
    journal.close();
  }
}
