import { effect, signal } from '@preact/signals';

import { session } from './session.ts';

/** Increases when messages have changed, at most once a second. */
export const changes = signal(0);
export const isLive = signal(false);

const QUIET_MS = 1000;

/** Listens to the events of the service while an operator is signed in. The browser reconnects and resumes by itself. */
effect(() => {
  if (!session.value) return undefined;
  const source = new EventSource('/operator/events');
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      changes.value++;
    }, QUIET_MS);
  };
  source.addEventListener('open', () => {
    isLive.value = true;
    changed();
  });
  source.addEventListener('error', () => (isLive.value = false));
  source.addEventListener('message', changed);
  source.addEventListener('gap', changed);
  return () => {
    source.close();
    clearTimeout(timer);
    isLive.value = false;
  };
});
