import { Icon } from '@footbridge/ui/icons';
import type { IconName } from '@footbridge/ui/icons';
import { useSignal } from '@preact/signals';

import { follow, hrefOf } from '../route.ts';
import { session } from '../session.ts';
import { LINK_NAMES, PAIR_TEXTS, TEXTS } from '../texts.ts';
import { timeText } from '../times.ts';
import { useData } from '../use-data.ts';

interface Link {
  readonly name: string;
  readonly state: 'ok' | 'waiting' | 'unknown' | 'broken';
  readonly sentence: string;
  readonly since: string | null;
}

interface Tenant {
  readonly locationId: string;
  readonly license: string | null;
  readonly links: readonly Link[];
  readonly problem: {
    readonly link: string;
    readonly sentence: string;
    readonly action: string;
    readonly since: string | null;
  } | null;
}

const MARKS: Readonly<Record<Link['state'], { icon: IconName; word: string }>> = {
  ok: { icon: 'check', word: 'works' },
  waiting: { icon: 'clock', word: 'not used yet' },
  unknown: { icon: 'clock', word: 'not reported' },
  broken: { icon: 'cross', word: 'broken' },
};

/** The home page: whether each tenant can text right now, and if not, why. */
export function TenantsPage() {
  const { value, problem } = useData<{ tenants: Tenant[] }>('/operator/tenants', { refresh: true });
  const wanted = useSignal('');
  const tenants = value.value?.tenants;
  if (tenants === undefined) return <p class="hint">{problem.value}</p>;
  const broken = tenants.filter((tenant) => tenant.problem !== null).length;
  const shown = tenants
    .filter(({ locationId, license }) =>
      `${locationId} ${license ?? ''}`.toLowerCase().includes(wanted.value.toLowerCase()),
    )
    .toSorted((one, other) => Number(other.problem !== null) - Number(one.problem !== null));
  return (
    <>
      <div class="page-head">
        <h1>{TEXTS.tenants}</h1>
        <p role="status">
          {tenants.length === 0 ? TEXTS.noTenants : broken === 0 ? TEXTS.allWell : TEXTS.problems(broken)}
        </p>
        {session.value?.locations === null && (
          <a href={hrefOf('/macs/pair')} onClick={follow}>
            {PAIR_TEXTS.title}
          </a>
        )}
        {tenants.length > 5 && (
          <input
            type="search"
            aria-label={TEXTS.findTenant}
            placeholder={TEXTS.findTenant}
            onInput={(event) => (wanted.value = event.currentTarget.value)}
          />
        )}
      </div>
      <ul class="tenants">
        {shown.map((tenant) => (
          <TenantCard key={tenant.locationId} tenant={tenant} />
        ))}
      </ul>
    </>
  );
}

function TenantCard({ tenant: { locationId, license, links, problem } }: { tenant: Tenant }) {
  return (
    <li class={problem === null ? 'card tenant' : 'card tenant is-broken'}>
      <div class="tenant-head">
        <h2>
          <bdi>{locationId}</bdi>
        </h2>
        {license !== null && (
          <span class="hint">
            <bdi>{license}</bdi>
          </span>
        )}
        <a href={hrefOf('/messages', { locationId })} onClick={follow}>
          {TEXTS.messagesOf}
        </a>
      </div>
      {problem !== null && (
        <p class="tenant-problem">
          <strong>
            <bdi>{problem.sentence}</bdi>
          </strong>{' '}
          {problem.since !== null && <span class="hint">Since {timeText(problem.since)}.</span>}{' '}
          {problem.action}
        </p>
      )}
      <ol class="links">
        {links.map((link) => (
          <li key={link.name} class={`link link-${link.state}`}>
            <Icon name={MARKS[link.state].icon} />
            <span class="link-name">{LINK_NAMES[link.name] ?? link.name}</span>
            <span class="visually-hidden">{MARKS[link.state].word}.</span>
            <span class="link-words">
              <bdi>{link.sentence}</bdi>
              {link.since !== null && <span class="hint"> {timeText(link.since)}</span>}
            </span>
          </li>
        ))}
      </ol>
    </li>
  );
}
