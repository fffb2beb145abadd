import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { listTenants } from '@footbridge/protocol/operator/watching';
import { Icon } from '@footbridge/ui/icons';
import type { IconName } from '@footbridge/ui/icons';
import { useSignal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { NextPageLink } from '../next-page.tsx';
import { follow, hrefOf } from '../route.ts';
import { session } from '../session.ts';
import { timeText } from '../times.ts';
import { useData } from '../use-data.ts';
import { Words } from '../words.tsx';

/** The names of the links of a tenant, in the order of a message. */
const LINK_NAMES: Readonly<Record<string, string>> = {
  installed: 'App installed',
  webhook: 'Last webhook',
  grant: 'Grant',
  mac: 'Mac',
  messages: 'Messages',
  permissions: 'Permissions',
  queue: 'Queue',
  traffic: 'Traffic',
  crm: 'CRM accepts',
};

const problemsText = (count: number) =>
  `${count} ${count === 1 ? 'tenant needs' : 'tenants need'} attention.`;
const moreTenantsText = (count: number) => `Show more (${count})`;

type Tenant = ResponseOf<typeof listTenants>['tenants'][number];
type Link = Tenant['links'][number];

const MARKS: Readonly<Record<Link['state'], { icon: IconName; word: string }>> = {
  ok: { icon: 'check', word: 'works' },
  waiting: { icon: 'clock', word: 'not used yet' },
  unknown: { icon: 'clock', word: 'not reported' },
  broken: { icon: 'cross', word: 'broken' },
};

const STEP = 30;
const TYPING_MS = 200;

/** The home page: whether each tenant can text right now, and if not, why. Those with a problem are first. */
export function TenantsPage() {
  const limit = useSignal(STEP);
  const search = useSignal('');
  const { value, problem } = useData(
    listTenants,
    { limit: limit.value, search: search.value },
    { refresh: true },
  );
  const page = value.value;
  if (page === undefined) return <p class="hint">{problem.value}</p>;
  const { tenants, total, broken, found } = page;
  return (
    <>
      <div class="page-head">
        <h1>Tenants</h1>
        <p role="status">
          {total === 0
            ? 'There are no tenants yet. Create a license, then pair a Mac with a location.'
            : broken === 0
              ? 'All tenants can text.'
              : problemsText(broken)}
        </p>
        {session.value?.locations === null && (
          <a href={hrefOf('/macs/pair')} onClick={follow}>
            Pair a Mac
          </a>
        )}
        {total > 5 && <Search search={search} />}
      </div>
      <ul class="tenants">
        {tenants.map((tenant) => (
          <TenantCard key={tenant.locationId} tenant={tenant} />
        ))}
      </ul>
      {found > tenants.length && (
        <More
          key={tenants.length}
          count={found - tenants.length}
          show={() => (limit.value = tenants.length + STEP)}
        />
      )}
    </>
  );
}

function Search({ search }: { readonly search: Signal<string> }) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  return (
    <input
      type="search"
      aria-keyshortcuts="/"
      aria-label="Find a tenant"
      placeholder="Find a tenant"
      onInput={(event) => {
        const text = event.currentTarget.value;
        clearTimeout(timer.current);
        timer.current = setTimeout(() => (search.value = text), TYPING_MS);
      }}
    />
  );
}

/** Shows more tenants when it scrolls into view or is pressed. */
function More({ count, show }: { readonly count: number; readonly show: () => void }) {
  const element = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && show(),
      { rootMargin: '600px' },
    );
    if (element.current !== null) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return (
    <p ref={element}>
      <button type="button" class="text-button" onClick={show}>
        {moreTenantsText(count)}
      </button>
    </p>
  );
}

const hadNoMac = ({ link, since }: NonNullable<Tenant['problem']>) => link === 'mac' && since === null;

function TenantCard({ tenant: { locationId, name, license, claimed, links, problem } }: { tenant: Tenant }) {
  return (
    <li class={problem === null ? 'card tenant' : 'card tenant is-broken'}>
      <div class="tenant-head">
        <h2>
          <bdi>{name ?? locationId}</bdi>
        </h2>
        {name !== undefined && (
          <span class="hint">
            <bdi>{locationId}</bdi>
          </span>
        )}
        {license !== null && (
          <span class="hint">
            <bdi>{license}</bdi>
            {claimed && ` (claimed, not assigned)`}
          </span>
        )}
        <a data-row href={hrefOf('/messages', { locationId })} onClick={follow}>
          Messages
        </a>
      </div>
      {problem !== null && (
        <p class="tenant-problem">
          <strong>
            <bdi>{problem.sentence}</bdi>
          </strong>{' '}
          {problem.since !== null && <span class="hint">Since {timeText(problem.since)}.</span>}{' '}
          <Words text={problem.action} />{' '}
          <NextPageLink of={hadNoMac(problem) ? 'no_mac' : problem.link} locationId={locationId} />
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
