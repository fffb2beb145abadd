import { follow, hrefOf } from './route.ts';
import { session } from './session.ts';

interface NextPage {
  readonly title: string;
  readonly path: string;
  readonly filters?: Readonly<Record<string, string>>;
  /** Not for tokens that are limited to locations. */
  readonly isOperators?: true;
}

const CONNECT: NextPage = { title: 'Connect HighLevel', path: '/highlevel', isOperators: true };
const PAIR: NextPage = { title: 'Pair a Mac', path: '/macs/pair', isOperators: true };
const MACS: NextPage = { title: 'Macs', path: '/macs', isOperators: true };

/** The page for the next step, by the broken link of a tenant or the kind of an issue. `no_mac`: no Mac has ever connected. */
const PAGES: Readonly<Record<string, NextPage>> = {
  installed: CONNECT,
  grant: CONNECT,
  no_mac: PAIR,
  grant_revoked: CONNECT,
  signatures_rejected: { title: 'Keys', path: '/keys', isOperators: true },
  deliveries_uncertain: { title: 'Uncertain messages', path: '/messages', filters: { code: 'UNCERTAIN' } },
  messages_set_aside: { title: 'Messages set aside', path: '/messages', filters: { code: 'SET_ASIDE' } },
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
