import { effect, signal } from '@preact/signals';

import { changes } from '../live.ts';
import { call, session } from '../session.ts';

export interface Issue {
  readonly id: string;
  readonly kind: string;
  readonly locationIds: readonly string[] | null;
  readonly sentence: string;
  readonly action: string;
  readonly since: string;
  readonly closedAt: string | null;
}

/** The open issues, for the page and its count in the navigation. Undefined: not known yet. */
export const openIssues = signal<readonly Issue[] | undefined>(undefined);

const POLL_MS = 5000;

effect(() => {
  if (!session.value) {
    openIssues.value = undefined;
    return undefined;
  }
  const read = async () => {
    try {
      openIssues.value = (await call<{ issues: Issue[] }>('GET', '/operator/issues')).issues;
    } catch {
      // The banner reports that the service does not respond; the next poll retries.
    }
  };
  const timer = setInterval(() => void read(), POLL_MS);
  // Also calls `read` immediately.
  const stop = changes.subscribe(() => void read());
  return () => {
    clearInterval(timer);
    stop();
  };
});
