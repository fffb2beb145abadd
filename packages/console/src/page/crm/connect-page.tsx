import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { listGrants, showCrmApp } from '@footbridge/protocol/operator/crm';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { CopyField, Problem, TableHead, TableRow } from '../controls.tsx';
import { PageButtons } from '../page-buttons.tsx';
import { CRM_TEXTS, TEXTS } from '../texts.ts';
import { timeText } from '../times.ts';
import { useData } from '../use-data.ts';

type Grant = ResponseOf<typeof listGrants>['grants'][number];

/** Shows what to enter in the app at HighLevel, waits for the installation and confirms it. */
export function ConnectPage() {
  const { value, problem } = useData(showCrmApp, {}, { refresh: false });
  const app = value.value;
  return (
    <>
      <div class="page-head">
        <h1>{CRM_TEXTS.title}</h1>
        <p class="hint">{CRM_TEXTS.intro}</p>
      </div>
      <Problem text={problem.value} />
      {app !== undefined && (
        <div class="two-columns">
          <section class="card form">
            {!app.deliveryUrl.startsWith('https://') && <p class="advice">{CRM_TEXTS.notHttps}</p>}
            <CopyField label={CRM_TEXTS.delivery} value={app.deliveryUrl} hint={CRM_TEXTS.deliveryHint} />
            <CopyField label={CRM_TEXTS.redirect} value={app.redirectUrl} hint={CRM_TEXTS.redirectHint} />
            <CopyField label={CRM_TEXTS.events} value={app.eventsUrl} hint={CRM_TEXTS.eventsHint} />
            <CopyField
              label={CRM_TEXTS.scopes}
              value={app.scopes.map(({ scope }) => scope).join(' ')}
              hint={CRM_TEXTS.scopesHint}
            />
            <ul class="scopes hint">
              {app.scopes.map(({ scope, purpose }) => (
                <li key={scope}>
                  <code>{scope}</code> {purpose}
                </li>
              ))}
            </ul>
          </section>
          <div class="stack">
            <section class="card form">
              <h2>{CRM_TEXTS.install}</h2>
              {app.oauth === 'disabled' && <p>{CRM_TEXTS.disabled}</p>}
              {app.oauth === 'incomplete' && <p>{CRM_TEXTS.incomplete(app.missing.join(', '))}</p>}
              {app.installUrl !== null && (
                <>
                  <CopyField label={CRM_TEXTS.install} value={app.installUrl} hint={CRM_TEXTS.installHint} />
                  <p>
                    <a href={app.installUrl} target="_blank" rel="noopener noreferrer">
                      {CRM_TEXTS.open}
                    </a>
                  </p>
                </>
              )}
            </section>
            <Installations />
          </div>
        </div>
      )}
    </>
  );
}

const COLUMNS = [CRM_TEXTS.owner, CRM_TEXTS.kind, CRM_TEXTS.grant, CRM_TEXTS.refreshed];

function Installations() {
  const after = useSignal<string | undefined>(undefined);
  const { value, of, problem } = useData(listGrants, { after: after.value }, { refresh: true });
  /** The installations when the page was loaded, and which page of the list that was. */
  const known = useSignal<{ readonly of: string; readonly ids: ReadonlySet<string> } | undefined>(undefined);
  const grants = value.value?.grants;
  // Compared with the installations at page load, not by time: the browser's clock may be wrong.
  useEffect(() => {
    if (grants !== undefined && known.value?.of !== of.value)
      known.value = { of: of.value, ids: new Set(active(grants)) };
  }, [grants]);
  const isKnown = known.value?.of === of.value;
  const added = active(grants ?? []).filter((id) => isKnown && known.value?.ids.has(id) === false);
  return (
    <section class="card form">
      <h2>{CRM_TEXTS.state}</h2>
      <Problem text={problem.value} />
      <p role="status" class={added.length > 0 ? 'result result-good' : 'hint'}>
        {added.length > 0 ? CRM_TEXTS.installed(added.join(', ')) : CRM_TEXTS.waiting}
      </p>
      {grants?.length === 0 && <p class="hint">{CRM_TEXTS.none}</p>}
      {grants !== undefined && grants.length > 0 && (
        <table class="list">
          <TableHead names={COLUMNS} />
          <tbody>
            {grants.map(({ kind, ownerId, state, refreshedAt }) => (
              <TableRow key={`${kind} ${ownerId}`} names={COLUMNS}>
                <th scope="row">
                  <bdi class="id">{ownerId}</bdi>
                </th>
                <td>{kind}</td>
                <td>
                  <span class={state === 'active' ? 'chip chip-good' : 'chip chip-bad'}>
                    {state === 'active' ? CRM_TEXTS.active : CRM_TEXTS.reauth}
                  </span>
                </td>
                <td class="nowrap">{timeText(refreshedAt)}</td>
              </TableRow>
            ))}
          </tbody>
        </table>
      )}
      <PageButtons of={TEXTS.pages.installations} after={after} next={value.value?.next} />
    </section>
  );
}

const active = (grants: readonly Grant[]): string[] =>
  grants.filter(({ state }) => state === 'active').map(({ ownerId }) => ownerId);
