import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';

import { counted } from '@footbridge/runtime/counted';

import { journalPath, lockDataDir } from '../edges/data-dir.ts';
import { moveTo, servedLocation } from '../flows/link/served-location.ts';
import { openAgentJournalAsIs } from '../open/journal.ts';
import type { Journal } from '../journal/journal.ts';
import { EXIT } from './exit-codes.ts';
import type { Output } from './output.ts';

/** Moves a stopped agent to another location after a confirmation. Deletes queued jobs and unacknowledged frames (M9). */
export async function move(
  { dataDir, location, yes }: { dataDir: string; location: string; yes: boolean },
  output: Output,
): Promise<number> {
  if (!existsSync(journalPath(dataDir))) {
    output.problem(`There is no agent in ${dataDir}. Start one with: footbridge-agent run --simulate`);
    return EXIT.failed;
  }
  const unlock = lockDataDir(dataDir);
  const journal = openAgentJournalAsIs(dataDir);
  try {
    const previous = servedLocation(journal) ?? null;
    if (previous === location) {
      output.result({ location, previous }, `This Mac already serves ${location}.`);
      return EXIT.done;
    }
    const dropped = contentOf(journal);
    if (!yes && !(await confirm(describe(dropped), output))) return EXIT.failed;
    moveTo(journal, location);
    const next = `footbridge-agent run --simulate --location ${location}`;
    output.result({ location, previous, dropped }, `This Mac now serves ${location}. Next: ${next}`);
    return EXIT.done;
  } finally {
    journal.close();
    unlock();
  }
}

interface Content {
  readonly queue: number;
  readonly outbox: number;
}

function contentOf({ jobs, outbox, inbox }: Journal): Content {
  const { unacknowledged, rejected, setAside } = outbox.counts();
  const frames = unacknowledged + rejected + setAside + inbox.pending().length;
  return { queue: jobs.pendingCount(), outbox: frames };
}

const describe = ({ queue, outbox }: Content): string =>
  `Moving deletes ${counted(queue, 'job')} waiting to be sent and ${counted(outbox, 'frame')} that the service has not acknowledged.`;

async function confirm(warning: string, output: Output): Promise<boolean> {
  if (!process.stdin.isTTY) {
    output.problem(`${warning} Nothing was changed: stdin is not a terminal; pass --yes to confirm`);
    return false;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${warning} Move? [y/N] `);
  terminal.close();
  if (/^y(es)?$/i.test(answer.trim())) return true;
  output.problem('Nothing was changed.');
  return false;
}
