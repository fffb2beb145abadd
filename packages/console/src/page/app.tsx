import { Icon } from '@footbridge/ui/icons';
import { theme, toggleTheme } from '@footbridge/ui/theme';
import { useEffect, useRef } from 'preact/hooks';

import { IssuesPage } from './issues/issues-page.tsx';
import { countOf, openIssues } from './issues/open-issues.ts';
import { isLive, isPaused } from './live.ts';
import { AuditPage } from './audit/audit-page.tsx';
import { ConnectPage } from './crm/connect-page.tsx';
import { KeysPage } from './keys/keys-page.tsx';
import { MacsPage } from './macs/macs-page.tsx';
import { PairPage } from './macs/pair-page.tsx';
import { MessagesPage } from './messages/messages-page.tsx';
import { TrailPage } from './messages/trail-page.tsx';
import { OverviewPage } from './overview/overview-page.tsx';
import { follow, hrefOf, route } from './route.ts';
import { clockOffsetMs, isReachable, session, signOut } from './session.ts';
import { ShortcutsHelp } from './shortcuts-help.tsx';
import { SignIn } from './sign-in.tsx';
import { TenantsPage } from './tenants/tenants-page.tsx';
import { isUtc, toggleUtc } from './times.ts';

const wrongText = (minutes: number) =>
  `This computer’s clock is ${Math.abs(minutes)} minutes ${minutes > 0 ? 'behind' : 'ahead of'} the clock of the service. This page shows the time of the service.`;

const PAGES = [
  { path: '/', title: 'Tenants' },
  { path: '/messages', title: 'Messages' },
  { path: '/issues', title: 'Issues' },
  { path: '/overview', title: 'Overview' },
] as const;

/** Only for tokens that cover all locations. */
const OPERATOR_PAGES = [
  { path: '/macs', title: 'Macs' },
  { path: '/highlevel', title: 'Connect HighLevel' },
  { path: '/keys', title: 'Keys' },
  { path: '/audit', title: 'Audit log' },
] as const;

/** A smaller difference between the clocks is not reported. */
const WRONG_CLOCK_MS = 120_000;

export function App() {
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <p class="brand">Footbridge</p>
        {session.value && <Navigation />}
        <div class="top-end">
          {session.value && <LiveState />}
          <button type="button" class="text-button" aria-pressed={isUtc.value} onClick={toggleUtc}>
            UTC
          </button>
          <button
            type="button"
            class="quiet-button"
            aria-label={theme.value === 'dark' ? 'Switch to light theme' : 'Switch to dark theme'}
            onClick={toggleTheme}
          >
            <Icon name={theme.value === 'dark' ? 'sun' : 'moon'} />
          </button>
          {session.value && <ShortcutsHelp />}
          {session.value && (
            <button type="button" class="text-button" onClick={() => void signOut()}>
              Sign out
            </button>
          )}
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        {!isReachable.value && (
          <p class="banner" role="alert">
            The service does not respond. This page tries again every few seconds.
          </p>
        )}
        {Math.abs(clockOffsetMs.value) > WRONG_CLOCK_MS && (
          <p class="advice" role="status">
            {wrongText(Math.round(clockOffsetMs.value / 60_000))}
          </p>
        )}
        <Page />
      </main>
    </>
  );
}

function LiveState() {
  const [name, text] = !isLive.value
    ? ['live', 'Reconnecting']
    : isPaused.value
      ? ['live is-paused', 'Paused']
      : ['live is-live', 'Live'];
  return (
    <span class={name} role="status">
      {text}
    </span>
  );
}

function Navigation() {
  const { path } = route.value;
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a small screen the links are a row that scrolls.
    const current = nav.current?.querySelector<HTMLElement>('[aria-current]');
    if (nav.current && current)
      nav.current.scrollLeft = current.offsetLeft + current.offsetWidth / 2 - nav.current.clientWidth / 2;
  }, [path]);
  return (
    <nav ref={nav} aria-label="Pages">
      {[...PAGES, ...(session.value?.locations === null ? OPERATOR_PAGES : [])].map((page) => (
        <a
          key={page.path}
          href={hrefOf(page.path)}
          aria-current={(page.path === '/' ? path === '/' : path.startsWith(page.path)) ? 'page' : undefined}
          onClick={follow}
        >
          {page.title}
          {page.path === '/issues' &&
            openIssues.value !== undefined &&
            openIssues.value.issues.length > 0 && <span class="count">{countOf(openIssues.value)}</span>}
        </a>
      ))}
    </nav>
  );
}

function Page() {
  if (session.value === undefined) return null;
  if (session.value === null) return <SignIn />;
  const { path } = route.value;
  const [, messageId] = /^\/messages\/(.+)$/.exec(path) ?? [];
  if (messageId !== undefined) return <TrailPage key={messageId} id={decodeURIComponent(messageId)} />;
  if (path === '/macs/pair') return <PairPage />;
  if (path.startsWith('/macs')) return <MacsPage />;
  if (path.startsWith('/highlevel')) return <ConnectPage />;
  if (path.startsWith('/keys')) return <KeysPage />;
  if (path.startsWith('/audit')) return <AuditPage />;
  if (path.startsWith('/issues')) return <IssuesPage />;
  if (path.startsWith('/overview')) return <OverviewPage />;
  return path.startsWith('/messages') ? <MessagesPage /> : <TenantsPage />;
}
