import { describe } from 'vitest';

import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { journalActivityContract } from './journal-activity.contract.ts';
import { journalFeedContract } from './journal-feed.contract.ts';
import { useJournal } from './journal.fixture.ts';
import { journalNodesContract } from './journal-nodes.contract.ts';
import { journalPeopleContract } from './journal-people.contract.ts';
import { journalPruningContract } from './journal-pruning.contract.ts';
import { journalReadsContract } from './journal-reads.contract.ts';
import { journalRepeatsContract } from './journal-repeats.contract.ts';
import { journalStatusesContract } from './journal-statuses.contract.ts';
import { journalWritesContract } from './journal-writes.contract.ts';

export function journalContract(name: string, open: () => Promise<OpenDatabase>): void {
  describe(`journal: ${name}`, () => {
    const fixture = useJournal(open);
    journalWritesContract(fixture);
    journalNodesContract(fixture);
    journalReadsContract(fixture);
    journalActivityContract(fixture);
    journalStatusesContract(fixture);
    journalRepeatsContract(fixture);
    journalPeopleContract(fixture);
    journalFeedContract(fixture);
    journalPruningContract(fixture);
  });
}
