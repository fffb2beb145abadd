import { effect, signal } from '@preact/signals';

import { session } from './session.ts';

/** Increases when messages have changed, at most once a second. */
export const changes = signal(0);
export const isLive = signal(false);
/** Whether the user wants new messages to be held back. */
export const isPaused = signal(false);

const QUIET_MS = 1000;
const RETRY_MS = 3000;

/** Listens to the events of the service while an operator is signed in. The browser resumes after the last event. */
effect(() => {
  if (!session.value) return undefined;
  let source: EventSource;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      changes.value++;
    }, QUIET_MS);
  };
  const connect = () => {
    source = new EventSource('/operator/events');
    source.addEventListener('open', () => {
      isLive.value = true;
      changed();
    });
    source.addEventListener('error', () => {
      isLive.value = false;
      // The browser reconnects after a lost connection, but not after an error response.
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(connect, RETRY_MS);
    });
    source.addEventListener('message', changed);
    source.addEventListener('gap', changed);
  };
  connect();
  return () => {
    source.close();
    clearTimeout(retry);
    clearTimeout(timer);
    isLive.value = false;
  };
});
