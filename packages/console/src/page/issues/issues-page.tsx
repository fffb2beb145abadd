import { listIssues } from '@footbridge/protocol/operator/watching';
import { Icon } from '@footbridge/ui/icons';
import { useSignal } from '@preact/signals';

import { NextPageLink } from '../next-page.tsx';
import { PageButtons } from '../page-buttons.tsx';
import { follow, hrefOf } from '../route.ts';
import { timeText } from '../times.ts';
import { useData } from '../use-data.ts';
import { Words } from '../words.tsx';
import { countOf, openIssues } from './open-issues.ts';
import type { Issue } from './open-issues.ts';

/** The kinds of issues that need other words than their own. */
const ISSUE_NAMES: Readonly<Record<string, string>> = {
  store_unreadable: 'Message store unreadable',
  permission_lost: 'Permission missing',
  token_ambiguous: 'Token of one location, several locations',
  crm_rejecting: 'CRM rejects calls',
  queue_old: 'Messages waiting on the Mac',
  sends_failing: 'Texts fail',
  line_silent: 'Unusual silence',
  canary_failed: 'Test texts do not arrive',
  deliveries_uncertain: 'Delivery uncertain',
  seats_exhausted: 'No free seat',
  location_contended: 'Several Macs claim one location',
  clock_doubtful: 'Clock in doubt',
  nodes_separate: 'Nodes do not find each other',
};

/** Returns `Mac offline` for `mac_offline`. */
const issueName = (kind: string): string =>
  ISSUE_NAMES[kind] ?? kind.replace(/^./, (first) => first.toUpperCase()).replaceAll('_', ' ');

const openIssuesText = (count: string) => `${count} ${count === '1' ? 'issue is' : 'issues are'} open.`;
const sinceText = (time: string) => `Since ${time}`;
const andMoreText = (count: number) => ` and ${count} more`;

const SHOWN_LOCATIONS = 5;
const SHOWN_CLOSED = 20;

/** The open issues with what to do about each, and the recently closed ones. */
export function IssuesPage() {
  const { value: closed } = useData(listIssues, { state: 'closed', limit: SHOWN_CLOSED }, { refresh: true });
  const after = useSignal<string | undefined>(undefined);
  const { value: page } = useData(listIssues, { after: after.value }, { refresh: true });
  const first = openIssues.value;
  if (first === undefined) return null;
  const { issues: open, next } = page.value ?? first;
  const recent = closed.value?.issues ?? [];
  return (
    <>
      <div class="page-head">
        <h1>Issues</h1>
        <p role="status">
          {first.issues.length === 0 ? 'Nothing is wrong.' : openIssuesText(countOf(first))}
        </p>
      </div>
      <ul class="issues">
        {open.map((issue) => (
          <IssueCard key={issue.id} issue={issue} />
        ))}
      </ul>
      <PageButtons of="issues" after={after} next={next} />
      {recent.length > 0 && (
        <section class="card closed-issues">
          <h2>Recently closed</h2>
          <ul>
            {recent.map((issue) => (
              <li key={issue.id}>
                <Icon name="check" />
                <span>
                  <bdi>{issue.sentence}</bdi>{' '}
                  <span class="hint">
                    {timeText(issue.since)} – {timeText(issue.closedAt ?? issue.since)}
                  </span>
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function IssueCard({ issue: { kind, sentence, action, since, locationIds } }: { readonly issue: Issue }) {
  return (
    <li class="card issue">
      <p class="issue-head">
        <span class="chip chip-bad">
          <Icon name="bolt" />
          {issueName(kind)}
        </span>
        <span class="hint">{sinceText(timeText(since))}</span>
      </p>
      <h2>
        <bdi>{sentence}</bdi>
      </h2>
      <p>
        <Words text={action} />{' '}
        <NextPageLink of={kind} locationId={locationIds?.length === 1 ? locationIds[0] : undefined} />
      </p>
      <p class="hint">
        Affects <Affected locationIds={locationIds} />
      </p>
    </li>
  );
}

function Affected({ locationIds }: Pick<Issue, 'locationIds'>) {
  if (locationIds === null) return <>all locations</>;
  const rest = locationIds.length - SHOWN_LOCATIONS;
  return (
    <>
      {locationIds.slice(0, SHOWN_LOCATIONS).map((locationId, index) => (
        <span key={locationId}>
          {index > 0 && ', '}
          <a href={hrefOf('/messages', { locationId })} onClick={follow}>
            <bdi>{locationId}</bdi>
          </a>
        </span>
      ))}
      {rest > 0 && andMoreText(rest)}
    </>
  );
}
