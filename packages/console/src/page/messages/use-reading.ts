import { useComputed, useSignal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';

import { isPaused } from '../live.ts';

/** Whether the user has paused the list, has scrolled down, or has the focus in it. New rows must not move the list then. */
export function useReading(list: RefObject<HTMLElement | null>): ReadonlySignal<boolean> {
  const isScrolled = useSignal(false);
  const hasFocus = useSignal(false);
  useEffect(() => {
    const look = () => {
      isScrolled.value = window.scrollY > 0;
      hasFocus.value = list.current?.contains(document.activeElement) === true;
    };
    look();
    window.addEventListener('scroll', look, { passive: true });
    document.addEventListener('focusin', look);
    document.addEventListener('focusout', look);
    return () => {
      window.removeEventListener('scroll', look);
      document.removeEventListener('focusin', look);
      document.removeEventListener('focusout', look);
      isPaused.value = false;
    };
  }, []);
  return useComputed(() => isPaused.value || isScrolled.value || hasFocus.value);
}

/** Resumes the list and scrolls to the top of the page, from where Tab continues. */
export function stopReading(): void {
  isPaused.value = false;
  document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}
