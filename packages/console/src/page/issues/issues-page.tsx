import { listIssues } from '@footbridge/protocol/operator/watching';
import { Icon } from '@footbridge/ui/icons';
import { useSignal } from '@preact/signals';

import { NextPageLink } from '../next-page.tsx';
import { PageButtons } from '../page-buttons.tsx';
import { follow, hrefOf } from '../route.ts';
import { issueName, TEXTS } from '../texts.ts';
import { timeText } from '../times.ts';
import { useData } from '../use-data.ts';
import { Words } from '../words.tsx';
import { countOf, openIssues } from './open-issues.ts';
import type { Issue } from './open-issues.ts';

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
        <h1>{TEXTS.issues}</h1>
        <p role="status">{first.issues.length === 0 ? TEXTS.noIssues : TEXTS.openIssues(countOf(first))}</p>
      </div>
      <ul class="issues">
        {open.map((issue) => (
          <IssueCard key={issue.id} issue={issue} />
        ))}
      </ul>
      <PageButtons of={TEXTS.pages.issues} after={after} next={next} />
      {recent.length > 0 && (
        <section class="card closed-issues">
          <h2>{TEXTS.closedIssues}</h2>
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
        <span class="hint">{TEXTS.since(timeText(since))}</span>
      </p>
      <h2>
        <bdi>{sentence}</bdi>
      </h2>
      <p>
        <Words text={action} />{' '}
        <NextPageLink of={kind} locationId={locationIds?.length === 1 ? locationIds[0] : undefined} />
      </p>
      <p class="hint">
        {TEXTS.affects} <Affected locationIds={locationIds} />
      </p>
    </li>
  );
}

function Affected({ locationIds }: Pick<Issue, 'locationIds'>) {
  if (locationIds === null) return <>{TEXTS.allLocations}</>;
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
      {rest > 0 && TEXTS.andMore(rest)}
    </>
  );
}
