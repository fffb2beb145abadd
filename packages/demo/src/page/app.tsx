import { effect, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

import { Announcer } from './announcer.tsx';
import { notice } from './post-action.ts';
import { IdempotencySwitch } from './scenarios/idempotency-switch.tsx';
import { ScenariosPane } from './scenarios/scenarios.tsx';
import { isLive } from './events.ts';
import { Icon } from '@footbridge/ui/icons';
import { InboxPane } from './inbox/inbox.tsx';
import { PhonePane } from './phone/phone.tsx';
import { theme, toggleTheme } from '@footbridge/ui/theme';
import type { PaneName } from './tour/steps.ts';
import { isOnTour, shownPane, startTour, Tour } from './tour/tour.tsx';
import { WirePane } from './wire/wire.tsx';

const tab = signal<PaneName>('phone');

/** Ignores the initial connection and short interruptions. */
const DISCONNECTED_AFTER_MS = 2500;
const isDisconnected = signal(false);
let wasLive = false;
effect(() => {
  isDisconnected.value = false;
  if (isLive.value) wasLive = true;
  if (isLive.value || !wasLive) return undefined;
  const timer = setTimeout(() => (isDisconnected.value = true), DISCONNECTED_AFTER_MS);
  return () => clearTimeout(timer);
});

const PANES: readonly { name: PaneName; title: string; short: string; subtitle: string }[] = [
  { name: 'phone', title: 'Customer’s phone', short: 'Phone', subtitle: 'via a simulated Mac' },
  { name: 'wire', title: 'On the wire', short: 'Wire', subtitle: 'Every HTTP call and WebSocket frame' },
  { name: 'inbox', title: 'CRM inbox', short: 'CRM', subtitle: 'Sends signed webhooks, receives API calls' },
  {
    name: 'breaks',
    title: 'Break it',
    short: 'Break it',
    subtitle: 'Failure scenarios and their guarantees',
  },
];

export function App() {
  useEffect(() => {
    if (shownPane.value !== undefined) tab.value = shownPane.value;
  }, [shownPane.value]);
  return (
    <div class="app" data-tab={tab.value}>
      <header class="top">
        <h1 class="brand">
          <svg class="brand-mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
            <path d="M3 21h26M5 21c3-10 19-10 22 0M11 21v-5.200M16 21v-7.400M21 21v-5.200" />
          </svg>
          Footbridge
        </h1>
        <p class="top-says">Real traffic between real programs, all on this machine.</p>
        <span class={isLive.value ? 'live is-live' : 'live'} role="status">
          {isLive.value ? 'Live' : 'Reconnecting'}
        </span>
        <a class="text-button" href="/console" target="_blank" rel="noopener">
          <Icon name="desk" /> Console
        </a>
        <button type="button" class="text-button" onClick={startTour} disabled={isOnTour.value}>
          <Icon name="tour" /> Tour
        </button>
        <button
          type="button"
          class="quiet-button"
          aria-label={theme.value === 'dark' ? 'Switch to light theme' : 'Switch to dark theme'}
          onClick={toggleTheme}
        >
          <Icon name={theme.value === 'dark' ? 'sun' : 'moon'} />
        </button>
      </header>
      <Tour />
      <nav class="tabs" aria-label="Panes">
        {PANES.map(({ name, short }) => (
          <button
            key={name}
            type="button"
            aria-current={tab.value === name ? 'true' : undefined}
            onClick={() => (tab.value = name)}
          >
            {short}
          </button>
        ))}
      </nav>
      <main class="panes">
        <Pane name="phone">
          <PhonePane />
        </Pane>
        <Pane name="wire">
          <WirePane />
        </Pane>
        <Pane name="inbox">
          <InboxPane />
        </Pane>
        <Pane name="breaks" aside={<IdempotencySwitch />}>
          <ScenariosPane />
        </Pane>
      </main>
      <Announcer />
      <div class="notice-place" role="alert">
        {isDisconnected.value && (
          <p class="notice">
            <span>
              The demo has stopped. Restart it with <code>npm run demo</code>; this page reconnects
              automatically.
            </span>
          </p>
        )}
        {notice.value !== undefined && (
          <p class="notice">
            <bdi>{notice.value}</bdi>
            <button
              type="button"
              class="quiet-button"
              aria-label="Dismiss"
              onClick={() => (notice.value = undefined)}
            >
              <Icon name="close" />
            </button>
          </p>
        )}
      </div>
    </div>
  );
}

interface PaneProps {
  readonly name: PaneName;
  /** At the end of the header. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

function Pane({ name, aside, children }: PaneProps) {
  const pane = PANES.find((candidate) => candidate.name === name);
  const isShown = shownPane.value === name;
  return (
    <section class={`pane pane-${name} ${isShown ? 'is-shown' : ''}`} aria-labelledby={`pane-${name}`}>
      <header class="pane-head">
        <h2 id={`pane-${name}`}>{pane?.title}</h2>
        <p>{pane?.subtitle}</p>
        {aside}
      </header>
      {children}
    </section>
  );
}
