import { existsSync } from 'node:fs';
import { homedir } from 'node:os';

import { createSystemClock } from '@footbridge/runtime/clock';
import type { Finding } from '@footbridge/runtime/finding';

import type { AgentConfig } from '../config/config.ts';
import { blueBubblesPasswordPath, journalPath } from '../edges/data-dir.ts';
import { JournalTooOldError } from '../errors.ts';
import type { Journal } from '../journal/journal.ts';
import { noteMemory } from '../journal/note-memory.ts';
import { examineBlueBubbles } from '../ports/messages/bluebubbles/examine.ts';
import { openAgentJournalAsIs, openEmptyJournal } from './journal.ts';

export { checkBlueBubbles, findBlueBubbles } from '../ports/messages/bluebubbles/check-server.ts';
export { readPasswordFile } from '../ports/messages/bluebubbles/password-file.ts';

/** Returns the path of the file with the password of BlueBubbles. */
export function passwordFileOf({
  dataDir,
  bluebubblesPasswordFile,
}: Pick<AgentConfig, 'dataDir' | 'bluebubblesPasswordFile'>): string {
  return bluebubblesPasswordFile ?? blueBubblesPasswordPath(dataDir);
}

/** Checks the BlueBubbles server of a data folder for `doctor`, even while the agent runs. Nothing is sent. */
export async function examineBlueBubblesOf(
  config: Pick<AgentConfig, 'dataDir' | 'bluebubblesUrl' | 'bluebubblesPasswordFile'>,
  home = homedir(),
): Promise<Finding[]> {
  const journal = openForExamination(config.dataDir);
  try {
    return await examineBlueBubbles({
      url: config.bluebubblesUrl,
      passwordFile: passwordFileOf(config),
      features: noteMemory(journal, 'bluebubbles'),
      home,
      clock: createSystemClock({ keepAlive: true }),
    });
  } finally {
    journal.close();
  }
}

/** Opens an empty journal when there is no usable one: nothing is then known about this Mac. */
function openForExamination(dataDir: string): Journal {
  if (!existsSync(journalPath(dataDir))) return openEmptyJournal();
  try {
    return openAgentJournalAsIs(dataDir, { readOnly: true });
  } catch (error) {
    if (error instanceof JournalTooOldError) return openEmptyJournal();
    throw error;
  }
}
