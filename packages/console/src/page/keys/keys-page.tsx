import type { InputOf, ResponseOf } from '@footbridge/protocol/operator/call';
import { addKey, changeKey, listKeys, listRejections, removeKey } from '@footbridge/protocol/operator/crm';
import { SIGNATURE_STEPS } from '@footbridge/protocol/signature-steps';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { ChangeButton, Problem, TableHead, TableRow, fieldsOf, isReadOnly } from '../controls.tsx';
import { PageButtons } from '../page-buttons.tsx';
import { call } from '../session.ts';
import { STEP_NAMES } from './sample-form.tsx';
import { timeText } from '../times.ts';
import { useAction } from '../use-action.ts';
import type { Action } from '../use-action.ts';
import { useData } from '../use-data.ts';
import { SampleForm } from './sample-form.tsx';

type Key = ResponseOf<typeof listKeys>['keys'][number];

/** The keys that may sign webhooks, and why signatures are rejected. */
export function KeysPage() {
  const after = useSignal<string | undefined>(undefined);
  const { value, problem, reload } = useData(listKeys, { after: after.value }, { refresh: true });
  const action = useAction();
  const keys = value.value?.keys;
  useEffect(() => action.isRunning.subscribe((isRunning) => !isRunning && reload()), []);
  const add = (key: InputOf<typeof addKey>) => action.run(() => call(addKey, key));
  return (
    <>
      <div class="page-head">
        <h1>Keys</h1>
        <p class="hint">A webhook is accepted only if one of these keys signed it.</p>
      </div>
      <Problem text={problem.value ?? action.problem.value} />
      {keys?.length === 0 && (
        <p class="banner" role="status">
          There are no keys, so every webhook gets 401.
        </p>
      )}
      {keys !== undefined && keys.length > 0 && <KeyTable keys={keys} action={action} />}
      <PageButtons of="keys" after={after} next={value.value?.next} />
      {keys !== undefined && !keys.some(({ header }) => header === 'X-GHL-Signature') && (
        <p>
          <button
            type="button"
            class="main-button"
            disabled={isReadOnly()}
            onClick={() => void add({ preset: 'highlevel' })}
          >
            Trust HighLevel's published key
          </button>
        </p>
      )}
      <RejectionsCard />
      <div class="two-columns">
        <SampleForm />
        <AddForm add={add} />
      </div>
    </>
  );
}

const KEY_COLUMNS = ['Name', 'Header', 'Scheme', 'Fingerprint', 'Locations', 'State'];

function KeyTable({ keys, action }: { readonly keys: readonly Key[]; readonly action: Action }) {
  const set = (id: string, enabled: boolean) => () => call(changeKey, { id, enabled });
  return (
    <table class="list">
      <TableHead names={KEY_COLUMNS} />
      <tbody>
        {keys.map(({ id, label, header, scheme, fingerprint, locations, enabled, source }) => (
          <TableRow key={id} names={KEY_COLUMNS}>
            <th scope="row">
              <bdi>{label}</bdi>
            </th>
            <td>
              <code>{header}</code>
            </td>
            <td>{scheme}</td>
            <td>
              <code title={fingerprint}>{fingerprint.slice(0, 16)}…</code>
            </td>
            <td>
              <bdi>{locations === null ? 'all' : locations.join(', ')}</bdi>
            </td>
            <td>
              <div class="actions">
                <span class={enabled ? 'chip chip-good' : 'chip'}>{enabled ? 'enabled' : 'disabled'}</span>
                {source === 'settings' && <span class="hint">from the settings</span>}
                {source === 'operator' && !enabled && (
                  <ChangeButton name="Enable" action={action} change={set(id, true)} />
                )}
                {source === 'operator' && enabled && (
                  <ChangeButton
                    name="Disable"
                    action={action}
                    change={set(id, false)}
                    warning="Webhooks signed with this key will get 401."
                  />
                )}
                {source === 'operator' && !enabled && (
                  <ChangeButton
                    name="Remove"
                    action={action}
                    change={() => call(removeKey, { id })}
                    warning="Webhooks signed with this key will get 401."
                  />
                )}
              </div>
            </td>
          </TableRow>
        ))}
      </tbody>
    </table>
  );
}

const REJECTION_COLUMNS = ['Step', 'Header', 'Count', 'Last', 'Meaning'];

function RejectionsCard() {
  const { value } = useData(listRejections, {}, { refresh: true });
  const rejections = value.value?.rejections;
  return (
    <section class="card">
      <h2>Rejected within the last hour</h2>
      {rejections?.length === 0 && (
        <p class="hint">The node that serves this page has rejected no signatures.</p>
      )}
      {rejections !== undefined && rejections.length > 0 && (
        <table class="list">
          <TableHead names={REJECTION_COLUMNS} />
          <tbody>
            {rejections.map(({ step, header, locationId, count, lastAt }) => (
              <TableRow key={`${step} ${header ?? ''}`} names={REJECTION_COLUMNS}>
                <th scope="row">{STEP_NAMES[step] ?? step}</th>
                <td>
                  <code>{header}</code>
                </td>
                <td>{count}</td>
                <td class="nowrap">{timeText(lastAt)}</td>
                <td>
                  {SIGNATURE_STEPS[step].meaning} {SIGNATURE_STEPS[step].advice}{' '}
                  {locationId !== null && <bdi class="hint">{locationId}</bdi>}
                </td>
              </TableRow>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function AddForm({ add }: { readonly add: (key: InputOf<typeof addKey>) => Promise<boolean> }) {
  async function submit(event: SubmitEvent): Promise<void> {
    const form = event.currentTarget as HTMLFormElement;
    const { label = '', header = '', scheme = '', publicKey = '' } = fieldsOf(event);
    if (await add({ label, header, scheme, publicKey })) form.reset();
  }
  return (
    <form class="card form" onSubmit={(event) => void submit(event)}>
      <h2>Add a key</h2>
      <p class="hint">
        To rotate a key, add the new one, wait until the CRM signs with it, then disable the old one.
      </p>
      <label>
        Name
        <input name="label" required maxLength={100} />
      </label>
      <label>
        Header
        <input name="header" required defaultValue="X-CRM-Signature" />
      </label>
      <label>
        Scheme
        <select name="scheme">
          <option>Ed25519</option>
          <option>RSA-SHA256</option>
        </select>
      </label>
      <label>
        Public key (PEM)
        <textarea name="publicKey" required rows={4} spellcheck={false} />
      </label>
      <button type="submit" class="main-button" disabled={isReadOnly()}>
        Add key
      </button>
    </form>
  );
}
