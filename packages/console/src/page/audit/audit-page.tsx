import { useSignal } from '@preact/signals';

import { Problem, TableHead, TableRow } from '../controls.tsx';
import { call } from '../session.ts';
import { ACTION_WORDS, AUDIT_TEXTS, TEXTS } from '../texts.ts';
import { timeText } from '../times.ts';
import { useAction } from '../use-action.ts';
import { useData } from '../use-data.ts';

interface Entry {
  readonly id: string;
  readonly at: string;
  readonly actor: 'operator' | 'mac';
  readonly name: string | null;
  readonly action: string;
  readonly target: string;
  readonly detail: Readonly<Record<string, string | number | boolean | null>> | null;
}

interface Page {
  readonly entries: readonly Entry[];
  readonly cursor: string | null;
}

/** Who changed what, newest first. */
export function AuditPage() {
  const { value, problem } = useData<Page>('/operator/audit', { refresh: true });
  const older = useSignal<readonly Page[]>([]);
  const loading = useAction();
  const pages = [...(value.value === undefined ? [] : [value.value]), ...older.value];
  const entries = [...new Map(pages.flatMap((page) => page.entries).map((one) => [one.id, one])).values()];
  const cursor = pages.at(-1)?.cursor ?? null;
  const loadOlder = async () => {
    const page = await call<Page>('GET', `/operator/audit?before=${encodeURIComponent(cursor ?? '')}`);
    older.value = [...older.value, page];
  };
  return (
    <>
      <div class="page-head">
        <h1>{AUDIT_TEXTS.title}</h1>
        <p class="hint">{AUDIT_TEXTS.intro}</p>
      </div>
      <Problem text={problem.value ?? loading.problem.value} />
      {value.value !== undefined && entries.length === 0 && <p class="hint">{AUDIT_TEXTS.empty}</p>}
      {entries.length > 0 && <Entries entries={entries} />}
      {cursor !== null && (
        <p>
          <button type="button" class="text-button" onClick={() => void loading.run(loadOlder)}>
            {AUDIT_TEXTS.older}
          </button>
        </p>
      )}
    </>
  );
}

const COLUMNS = [TEXTS.time, AUDIT_TEXTS.who, AUDIT_TEXTS.what, AUDIT_TEXTS.target, AUDIT_TEXTS.detail];

function Entries({ entries }: { readonly entries: readonly Entry[] }) {
  return (
    <table class="list">
      <TableHead names={COLUMNS} />
      <tbody>
        {entries.map(({ id, at, actor, name, action, target, detail }) => (
          <TableRow key={id} names={COLUMNS}>
            <td class="nowrap">{timeText(at)}</td>
            <td>
              <bdi>{actor === 'mac' ? AUDIT_TEXTS.mac : (name ?? AUDIT_TEXTS.earlier)}</bdi>
            </td>
            <td>{ACTION_WORDS[action] ?? action}</td>
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
