import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { listIssues } from '@footbridge/protocol/operator/watching';
import { effect, signal } from '@preact/signals';

import { changes } from '../live.ts';
import { call, session } from '../session.ts';

export type Issue = ResponseOf<typeof listIssues>['issues'][number];

/** The first page of the open issues, for the page and its count in the navigation. Undefined: not known yet. */
export const openIssues = signal<ResponseOf<typeof listIssues> | undefined>(undefined);

/** How many issues are open: `1000+` when there is another page. */
export const countOf = ({ issues, next }: ResponseOf<typeof listIssues>): string =>
  `${issues.length}${next === undefined ? '' : '+'}`;

const POLL_MS = 5000;

effect(() => {
  if (!session.value) {
    openIssues.value = undefined;
    return undefined;
  }
  const read = async () => {
    try {
      openIssues.value = await call(listIssues);
    } catch {
      // The banner reports that the service does not respond; the next poll retries.
    }
  };
  const timer = setInterval(() => void read(), POLL_MS);
  // `subscribe` calls its listener at once: this is the first read.
  const stop = changes.subscribe(() => void read());
  return () => {
    clearInterval(timer);
    stop();
  };
});
