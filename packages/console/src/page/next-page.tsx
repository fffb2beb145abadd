import { follow, hrefOf } from './route.ts';
import { session } from './session.ts';
import { CRM_TEXTS, KEYS_TEXTS, MACS_TEXTS, NEXT_TEXTS, PAIR_TEXTS } from './texts.ts';

interface NextPage {
  readonly title: string;
  readonly path: string;
  readonly filters?: Readonly<Record<string, string>>;
  /** Not for tokens that are limited to locations. */
  readonly isOperators?: true;
}

const CONNECT: NextPage = { title: CRM_TEXTS.title, path: '/highlevel', isOperators: true };
const PAIR: NextPage = { title: PAIR_TEXTS.title, path: '/macs/pair', isOperators: true };
const MACS: NextPage = { title: MACS_TEXTS.title, path: '/macs', isOperators: true };

/** The page for the next step, by the broken link of a tenant or the kind of an issue. `no_mac`: no Mac has ever connected. */
const PAGES: Readonly<Record<string, NextPage>> = {
  installed: CONNECT,
  grant: CONNECT,
  no_mac: PAIR,
  grant_revoked: CONNECT,
  signatures_rejected: { title: KEYS_TEXTS.title, path: '/keys', isOperators: true },
  deliveries_uncertain: { title: NEXT_TEXTS.uncertain, path: '/messages', filters: { code: 'UNCERTAIN' } },
  messages_set_aside: { title: NEXT_TEXTS.setAside, path: '/messages', filters: { code: 'SET_ASIDE' } },
  seats_exhausted: MACS,
  location_contended: MACS,
};

/** A link to the page on which the operator can act, if there is one. */
export function NextPageLink({
  of,
  locationId,
}: {
  readonly of: string;
  readonly locationId: string | undefined;
}) {
  const page = PAGES[of];
  if (page === undefined || (page.isOperators === true && session.value?.locations !== null)) return null;
  return (
    <a class="text-button" href={hrefOf(page.path, { ...page.filters, locationId })} onClick={follow}>
      {page.title}
    </a>
  );
}
