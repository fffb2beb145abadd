import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { listGrants, showCrmApp } from '@footbridge/protocol/operator/crm';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { CopyField, Problem, TableHead, TableRow } from '../controls.tsx';
import { PageButtons } from '../page-buttons.tsx';
import { timeText } from '../times.ts';
import { useData } from '../use-data.ts';

const incompleteText = (names: string) => `OAuth is not ready. Set ${names} and restart the service.`;
const installedText = (id: string) => `Installed for ${id}.`;

type Grant = ResponseOf<typeof listGrants>['grants'][number];

/** Shows what to enter in the app at HighLevel, waits for the installation and confirms it. */
export function ConnectPage() {
  const { value, problem } = useData(showCrmApp, {}, { refresh: false });
  const app = value.value;
  return (
    <>
      <div class="page-head">
        <h1>Connect HighLevel</h1>
        <p class="hint">
          Enter these values in your app at marketplace.gohighlevel.com, then install the app.
        </p>
      </div>
      <Problem text={problem.value} />
      {app !== undefined && (
        <div class="two-columns">
          <section class="card form">
            {!app.deliveryUrl.startsWith('https://') && (
              <p class="advice">
                HighLevel accepts only https addresses. Set BASE_URL to the public address of this service.
              </p>
            )}
            <CopyField
              label="Delivery URL"
              value={app.deliveryUrl}
              hint="Conversation provider of type SMS."
            />
            <CopyField label="Redirect URL" value={app.redirectUrl} hint="Advanced settings, Auth." />
            <CopyField
              label="Webhook URL"
              value={app.eventsUrl}
              hint="For the events INSTALL, UNINSTALL and ContactDndUpdate."
            />
            <CopyField
              label="Scopes"
              value={app.scopes.map(({ scope }) => scope).join(' ')}
              hint="HighLevel locks the scopes when a version is published, so select all of them."
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
              <h2>Install link</h2>
              {app.oauth === 'disabled' && (
                <p>
                  OAuth is off: the service uses private integration tokens. To use an app, set
                  CRM_OAUTH_ENABLED.
                </p>
              )}
              {app.oauth === 'incomplete' && <p>{incompleteText(app.missing.join(', '))}</p>}
              {app.installUrl !== null && (
                <>
                  <CopyField
                    label="Install link"
                    value={app.installUrl}
                    hint="Open it, or send it to your customer. For a private app, append &version_id= and the version id."
                  />
                  <p>
                    <a href={app.installUrl} target="_blank" rel="noopener noreferrer">
                      Open the install link
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

const COLUMNS = ['Installed for', 'Kind', 'Grant', 'Token refreshed'];

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
      <h2>Installations</h2>
      <Problem text={problem.value} />
      <p role="status" class={added.length > 0 ? 'result result-good' : 'hint'}>
        {added.length > 0
          ? installedText(added.join(', '))
          : 'Waiting for an installation. This page updates automatically.'}
      </p>
      {grants?.length === 0 && <p class="hint">The app is not installed anywhere yet.</p>}
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
                    {state === 'active' ? 'active' : 'revoked: install the app again'}
                  </span>
                </td>
                <td class="nowrap">{timeText(refreshedAt)}</td>
              </TableRow>
            ))}
          </tbody>
        </table>
      )}
      <PageButtons of="installations" after={after} next={value.value?.next} />
    </section>
  );
}

const active = (grants: readonly Grant[]): string[] =>
  grants.filter(({ state }) => state === 'active').map(({ ownerId }) => ownerId);
