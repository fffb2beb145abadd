import type { Finding } from '../../platform/findings.ts';

import type { TimedPage } from '../../platform/timed-page.ts';

/** The kinds of issues. */
export const ISSUE_KINDS = [
  'mac_offline',
  'messages_signed_out',
  'messages_not_running',
  'store_unreadable',
  'permission_lost',
  'grant_revoked',
  'tokens_unreadable',
  'token_ambiguous',
  'crm_rejecting',
  'queue_old',
  'sends_failing',
  'line_silent',
  'canary_failed',
  'signatures_rejected',
  'deliveries_uncertain',
  'messages_set_aside',
  'seats_exhausted',
  'location_contended',
  'disk_almost_full',
  'clock_doubtful',
  'nodes_separate',
] as const;

/** An issue that opens again within this time after it was closed is the same one. */
export const SAME_ISSUE_MS = 3_600_000;

export interface Issue extends Finding {
  readonly id: string;
  readonly since: number;
  readonly openedAt: number;
  /** Null while it is open. */
  readonly closedAt: number | null;
  /** The node that found it last, and when. */
  readonly seenBy: string;
  readonly seenAt: number;
  /** How often it opened again. */
  readonly reopened: number;
}

/**
 * The issues of all nodes.
 *
 * - `open` opens an issue for each finding whose kind and subject have no open issue, and resolves with those that this call opened: of
 *   several nodes that find the same, one opens it. One that was closed less than `SAME_ISSUE_MS` ago is opened again, with the same id.
 * - `confirm` records that a node still finds these open issues. `reword` replaces the sentence and action of an issue with those of a newer finding.
 * - `close` resolves with those that this call closed: of several nodes, one closes an issue.
 * - `listOpen` lists the oldest first, `listClosed` the most recently closed first.
 * - Every method rejects with EngineError when the database is unavailable.
 */
export interface Issues {
  open(findings: readonly Finding[], node: string): Promise<Issue[]>;
  confirm(ids: readonly string[], node: string): Promise<void>;
  reword(id: string, words: Pick<Finding, 'sentence' | 'action' | 'locationIds'>): Promise<void>;
  close(ids: readonly string[]): Promise<Issue[]>;
  /** Lists all or a page. The place of an open issue has the time when it began, that of a closed one when it was closed. */
  listOpen(page?: TimedPage): Promise<Issue[]>;
  listClosed(page: TimedPage): Promise<Issue[]>;
  /** Deletes issues that were closed before this time. */
  prune(closedBefore: number): Promise<void>;
}
