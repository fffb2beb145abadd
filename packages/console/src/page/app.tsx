import { Icon } from '@footbridge/ui/icons';
import { theme, toggleTheme } from '@footbridge/ui/theme';

import { isLive } from './live.ts';
import { MessagesPage } from './messages/messages-page.tsx';
import { TrailPage } from './messages/trail-page.tsx';
import { follow, hrefOf, route } from './route.ts';
import { isReachable, session, signOut } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { TenantsPage } from './tenants/tenants-page.tsx';
import { TEXTS } from './texts.ts';
import { isUtc, toggleUtc } from './times.ts';

const PAGES = [
  { path: '/', title: TEXTS.tenants },
  { path: '/messages', title: TEXTS.messages },
] as const;

export function App() {
  return (
    <>
      <a class="skip" href="#content">
        {TEXTS.skip}
      </a>
      <header class="top">
        <p class="brand">{TEXTS.product}</p>
        {session.value && <Navigation />}
        <div class="top-end">
          {session.value && (
            <span class={isLive.value ? 'live is-live' : 'live'} role="status">
              {isLive.value ? TEXTS.live : TEXTS.reconnecting}
            </span>
          )}
          <button type="button" class="text-button" aria-pressed={isUtc.value} onClick={toggleUtc}>
            {TEXTS.utc}
          </button>
          <button
            type="button"
            class="quiet-button"
            aria-label={theme.value === 'dark' ? TEXTS.lightTheme : TEXTS.darkTheme}
            onClick={toggleTheme}
          >
            <Icon name={theme.value === 'dark' ? 'sun' : 'moon'} />
          </button>
          {session.value && (
            <button type="button" class="text-button" onClick={() => void signOut()}>
              {TEXTS.signOut}
            </button>
          )}
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        {!isReachable.value && (
          <p class="banner" role="alert">
            {TEXTS.unreachable}
          </p>
        )}
        <Page />
      </main>
    </>
  );
}

function Navigation() {
  const { path } = route.value;
  return (
    <nav aria-label="Pages">
      {PAGES.map((page) => (
        <a
          key={page.path}
          href={hrefOf(page.path)}
          aria-current={(page.path === '/' ? path === '/' : path.startsWith(page.path)) ? 'page' : undefined}
          onClick={follow}
        >
          {page.title}
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
  if (messageId !== undefined) return <TrailPage id={decodeURIComponent(messageId)} />;
  return path.startsWith('/messages') ? <MessagesPage /> : <TenantsPage />;
}
