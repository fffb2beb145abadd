import { every } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import type { Finding } from '../../platform/findings.ts';
import type { Issue, Issues } from './issues-sql.ts';

export interface IssueWatchDeps {
  readonly issues: Issues;
  /** Resolves with the findings of this node. */
  readonly find: () => Promise<readonly Finding[]>;
  /** True when the last `find` could not tell whether the issue persists. */
  readonly isUndecided: (issue: Issue) => boolean;
  /** The id of this node. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called on the one node that opened or closed the issue. Must not throw. */
  readonly changed: (change: 'opened' | 'closed', issue: Issue) => void;
  /** Called after each check with the open issues of all nodes. */
  readonly checked: (open: readonly Issue[]) => void;
}

const CHECK_MS = 15_000;
/** A slow check, as with thousands of locations, runs less often: it uses about 1 % of the time until `MAX_CHECK_MS` is reached. */
const MAX_SHARE = 0.01;
/** Must stay below `STALE_AFTER_MS`, or other nodes close the issues of this one. */
const MAX_CHECK_MS = 30_000;
/** A finding opens an issue once this node has found it for this long. The default is 0. */
const HOLD_MS: Partial<Record<string, number>> = {
  mac_offline: 300_000,
  // An update or a restart of Messages takes this long.
  messages_not_running: 120_000,
  store_unreadable: 60_000,
  // After an outage, delayed texts need this long to arrive.
  line_silent: 300_000,
};
/** A node that has not confirmed an issue for this long may be gone: another node can close it. */
const STALE_AFTER_MS = 60_000;
/** How often a node confirms what it still finds. */
const CONFIRM_EVERY_MS = 20_000;

/**
 * Opens and closes issues from the findings of this node. Nodes with the same finding share one issue: the first opens it, and it stays open while
 * the node that confirmed it last still finds it, or another takes over within a minute.
 */
export class IssueWatch {
  readonly #deps: IssueWatchDeps;
  readonly #stop: () => void;
  /** When this node first made each finding, by kind and subject. */
  #foundAt = new Map<string, number>();
  /** The last confirmation of each open issue, and when this node first saw it. */
  #confirmed = new Map<string, { readonly value: string; readonly since: number }>();
  #checking: Promise<void> = Promise.resolve();
  #isChecking = false;
  #nextCheckAt = 0;
  #isFailing = false;

  constructor(deps: IssueWatchDeps) {
    this.#deps = deps;
    this.#stop = every(deps.clock, CHECK_MS, () => {
      const began = deps.clock.monotonic();
      if (this.#isChecking || began < this.#nextCheckAt) return;
      this.#isChecking = true;
      this.#checking = this.#check()
        .then((isDone) => {
          const tookMs = isDone ? deps.clock.monotonic() - began : 0;
          // Minus half an interval, so that the nearest tick runs the check.
          this.#nextCheckAt = began + Math.min(tookMs / MAX_SHARE, MAX_CHECK_MS) - CHECK_MS / 2;
        })
        .finally(() => (this.#isChecking = false));
    });
  }

  /** Resolves when the check in progress, if there is one, has ended. */
  idle(): Promise<void> {
    return this.#checking;
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#checking;
  }

  /** Resolves with false if the check failed. */
  async #check(): Promise<boolean> {
    const { log } = this.#deps;
    try {
      await this.#compare(await this.#deps.find());
      if (this.#isFailing) log.info({ event: 'issue.checked' }, 'issue check recovered');
      this.#isFailing = false;
      return true;
    } catch (error) {
      if (!this.#isFailing)
        log.warn({ event: 'issue.check_failed', err: error }, 'issues not checked, will retry');
      this.#isFailing = true;
      return false;
    }
  }

  /** Compares the findings with the open issues. */
  async #compare(findings: readonly Finding[]): Promise<void> {
    const { issues, node, clock } = this.#deps;
    const now = clock.now();
    const found = new Map(findings.map((finding) => [keyOf(finding), finding]));
    const open = await issues.listOpen();
    const known = new Set(open.map(keyOf));

    for (const issue of open) {
      const finding = found.get(keyOf(issue));
      if (finding !== undefined && hasOtherWords(issue, finding)) await issues.reword(issue.id, finding);
    }
    const mine = this.#mine(open);
    const isKept = (issue: Issue) => found.has(keyOf(issue)) || this.#deps.isUndecided(issue);
    await issues.confirm(
      mine
        .filter((issue) => isKept(issue) && (issue.seenBy !== node || now - issue.seenAt >= CONFIRM_EVERY_MS))
        .map(({ id }) => id),
      node,
    );
    const closed = await issues.close(mine.filter((issue) => !isKept(issue)).map(({ id }) => id));
    const opened = await issues.open(
      this.#held(found).filter((finding) => !known.has(keyOf(finding))),
      node,
    );

    for (const issue of closed) this.#deps.changed('closed', issue);
    for (const issue of opened) this.#deps.changed('opened', issue);
    const gone = new Set(closed.map(({ id }) => id));
    this.#deps.checked([...open.filter(({ id }) => !gone.has(id)), ...opened]);
  }

  /** Returns the issues that this node confirmed last or that no node has confirmed for a while. The clocks of nodes may differ. */
  #mine(open: readonly Issue[]): Issue[] {
    const now = this.#deps.clock.monotonic();
    const before = this.#confirmed;
    this.#confirmed = new Map(
      open.map(({ id, seenBy, seenAt }) => {
        const value = `${seenBy} ${seenAt}`;
        const known = before.get(id);
        return [id, known?.value === value ? known : { value, since: now }];
      }),
    );
    return open.filter(
      ({ id, seenBy }) =>
        seenBy === this.#deps.node || now - (this.#confirmed.get(id)?.since ?? now) >= STALE_AFTER_MS,
    );
  }

  /** Returns the findings that this node has had for long enough. */
  #held(found: ReadonlyMap<string, Finding>): Finding[] {
    const now = this.#deps.clock.monotonic();
    const before = this.#foundAt;
    this.#foundAt = new Map(Array.from(found.keys(), (key) => [key, before.get(key) ?? now]));
    return Array.from(found)
      .filter(([key, { kind }]) => now - (this.#foundAt.get(key) ?? now) >= (HOLD_MS[kind] ?? 0))
      .map(([, finding]) => finding);
  }
}

const keyOf = ({ kind, subject }: Pick<Finding, 'kind' | 'subject'>) => `${kind} ${subject}`;

const hasOtherWords = (issue: Issue, finding: Finding): boolean =>
  issue.sentence !== finding.sentence ||
  issue.action !== finding.action ||
  JSON.stringify(issue.locationIds) !== JSON.stringify(finding.locationIds);
