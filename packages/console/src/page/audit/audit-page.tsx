import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { listAudit } from '@footbridge/protocol/operator/watching';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { Problem, TableHead, TableRow } from '../controls.tsx';
import { call } from '../session.ts';
import { timeText } from '../times.ts';
import { useAction } from '../use-action.ts';
import { useData } from '../use-data.ts';

/** The actions of the audit log that need other words than their own. */
const ACTION_WORDS: Readonly<Record<string, string>> = {
  'license.created': 'created a license',
  'license.changed': 'changed a license',
  'device.activated': 'took a seat',
  'device.deactivated': 'freed its seat',
  'device.revoked': 'revoked a Mac',
  'device.restored': 'restored a Mac',
  'location.assigned': 'assigned a location to a license',
  'location.released': 'released a location',
  'location.deleted': 'deleted a location',
  'location.disconnected': 'disconnected a Mac',
  'location.pairing_code_created': 'created a pairing code',
  'key.added': 'added a key',
  'key.enabled': 'enabled a key',
  'key.disabled': 'disabled a key',
  'key.removed': 'removed a key',
  'token.created': 'created an operator token',
  'token.removed': 'removed an operator token',
  'session.started': 'signed in',
  'grant.removed': 'removed a grant',
  'private_token.set': 'set a private integration token',
  'private_token.removed': 'removed a private integration token',
  'message.redelivered': 'redelivered a message',
  'capture.started': 'showed texts for 15 minutes',
  'capture.stopped': 'hid texts again',
};

/** Returns `changed retention` for `retention.changed`. */
const actionWords = (action: string): string =>
  ACTION_WORDS[action] ?? action.split('.').toReversed().join(' ').replaceAll('_', ' ');

type Page = ResponseOf<typeof listAudit>;
type Entry = Page['entries'][number];

const NOTHING: Page = { entries: [], cursor: null };

/** Who changed what, newest first. */
export function AuditPage() {
  const { value, problem } = useData(listAudit, {}, { refresh: true });
  const loaded = useSignal<Page | undefined>(undefined);
  const loading = useAction();
  useEffect(() => {
    if (value.value !== undefined) loaded.value = withNewest(loaded.peek() ?? NOTHING, value.value);
  }, [value.value]);
  const { entries, cursor } = loaded.value ?? NOTHING;
  const loadOlder = async () => {
    const older = await call(listAudit, { before: cursor ?? undefined });
    const now = loaded.peek() ?? NOTHING;
    // While the page was read, the loaded entries may have been replaced by newer ones.
    if (now.cursor === cursor)
      loaded.value = { entries: [...now.entries, ...older.entries], cursor: older.cursor };
  };
  return (
    <>
      <div class="page-head">
        <h1>Audit log</h1>
        <p class="hint">Every change, with the token that made it.</p>
      </div>
      <Problem text={problem.value ?? loading.problem.value} />
      {loaded.value !== undefined && entries.length === 0 && <p class="hint">There are no entries yet.</p>}
      {entries.length > 0 && <Entries entries={entries} />}
      {cursor !== null && (
        <p>
          <button type="button" class="text-button" onClick={() => void loading.run(loadOlder)}>
            Load older entries
          </button>
        </p>
      )}
    </>
  );
}

/** Adds the entries of the newest page to the loaded ones. If entries between the two may be missing, only the newest page is kept. */
function withNewest(loaded: Page, newest: Page): Page {
  const ids = new Set(loaded.entries.map(({ id }) => id));
  const added = newest.entries.filter(({ id }) => !ids.has(id));
  return added.length === newest.entries.length
    ? newest
    : { entries: [...added, ...loaded.entries], cursor: loaded.cursor };
}

const COLUMNS = ['Time', 'Who', 'What', 'Object', 'Details'];

function Entries({ entries }: { readonly entries: readonly Entry[] }) {
  return (
    <table class="list">
      <TableHead names={COLUMNS} />
      <tbody>
        {entries.map(({ id, at, actor, name, action, target, detail }) => (
          <TableRow key={id} names={COLUMNS}>
            <td class="nowrap">{timeText(at)}</td>
            <td class="who">
              <bdi>{actor === 'mac' ? 'a Mac' : (name ?? 'Operator')}</bdi>
            </td>
            <td>{actionWords(action)}</td>
            <td>
              <bdi class="id">{target}</bdi>
            </td>
            <td class="hint">
              <bdi>{factsOf(detail)}</bdi>
            </td>
          </TableRow>
        ))}
      </tbody>
    </table>
  );
}

const factsOf = (detail: Entry['detail']): string =>
  Object.entries(detail ?? {})
    .flatMap(([name, value]) => (value === null ? [] : [`${name} ${value}`]))
    .join(', ');
