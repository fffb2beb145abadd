import type { InputOf, ResponseOf } from '@footbridge/protocol/operator/call';
import { addKey, changeKey, listKeys, listRejections, removeKey } from '@footbridge/protocol/operator/crm';
import { SIGNATURE_STEPS } from '@footbridge/protocol/signature-steps';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { ChangeButton, Problem, TableHead, TableRow, fieldsOf, isReadOnly } from '../controls.tsx';
import { PageButtons } from '../page-buttons.tsx';
import { call } from '../session.ts';
import { KEYS_TEXTS, STEP_NAMES, TEXTS } from '../texts.ts';
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
        <h1>{KEYS_TEXTS.title}</h1>
        <p class="hint">{KEYS_TEXTS.intro}</p>
      </div>
      <Problem text={problem.value ?? action.problem.value} />
      {keys?.length === 0 && (
        <p class="banner" role="status">
          {KEYS_TEXTS.none}
        </p>
      )}
      {keys !== undefined && keys.length > 0 && <KeyTable keys={keys} action={action} />}
      <PageButtons of={TEXTS.pages.keys} after={after} next={value.value?.next} />
      {keys !== undefined && !keys.some(({ header }) => header === 'X-GHL-Signature') && (
        <p>
          <button
            type="button"
            class="main-button"
            disabled={isReadOnly()}
            onClick={() => void add({ preset: 'highlevel' })}
          >
            {KEYS_TEXTS.preset}
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

const KEY_COLUMNS = [
  KEYS_TEXTS.label,
  KEYS_TEXTS.header,
  KEYS_TEXTS.scheme,
  KEYS_TEXTS.fingerprint,
  KEYS_TEXTS.limitedTo,
  KEYS_TEXTS.state,
];

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
              <bdi>{locations === null ? KEYS_TEXTS.allLocations : locations.join(', ')}</bdi>
            </td>
            <td>
              <div class="actions">
                <span class={enabled ? 'chip chip-good' : 'chip'}>
                  {enabled ? KEYS_TEXTS.enabled : KEYS_TEXTS.disabled}
                </span>
                {source === 'settings' && <span class="hint">{KEYS_TEXTS.settings}</span>}
                {source === 'operator' && !enabled && (
                  <ChangeButton name={KEYS_TEXTS.enable} action={action} change={set(id, true)} />
                )}
                {source === 'operator' && enabled && (
                  <ChangeButton
                    name={KEYS_TEXTS.disable}
                    action={action}
                    change={set(id, false)}
                    warning={KEYS_TEXTS.disableWarning}
                  />
                )}
                {source === 'operator' && !enabled && (
                  <ChangeButton
                    name={KEYS_TEXTS.remove}
                    action={action}
                    change={() => call(removeKey, { id })}
                    warning={KEYS_TEXTS.disableWarning}
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

const REJECTION_COLUMNS = [
  KEYS_TEXTS.step,
  KEYS_TEXTS.header,
  KEYS_TEXTS.count,
  KEYS_TEXTS.last,
  KEYS_TEXTS.why,
];

function RejectionsCard() {
  const { value } = useData(listRejections, {}, { refresh: true });
  const rejections = value.value?.rejections;
  return (
    <section class="card">
      <h2>{KEYS_TEXTS.rejections}</h2>
      {rejections?.length === 0 && <p class="hint">{KEYS_TEXTS.noRejections}</p>}
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
      <h2>{KEYS_TEXTS.add}</h2>
      <p class="hint">{KEYS_TEXTS.rotate}</p>
      <label>
        {KEYS_TEXTS.label}
        <input name="label" required maxLength={100} />
      </label>
      <label>
        {KEYS_TEXTS.header}
        <input name="header" required defaultValue="X-CRM-Signature" />
      </label>
      <label>
        {KEYS_TEXTS.scheme}
        <select name="scheme">
          <option>Ed25519</option>
          <option>RSA-SHA256</option>
        </select>
      </label>
      <label>
        {KEYS_TEXTS.publicKey}
        <textarea name="publicKey" required rows={4} spellcheck={false} />
      </label>
      <button type="submit" class="main-button" disabled={isReadOnly()}>
        {KEYS_TEXTS.addButton}
      </button>
    </form>
  );
}
