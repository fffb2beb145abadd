import { useSignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import type { RefObject } from 'preact';

export interface VisibleRows {
  readonly first: number;
  /** Not included. */
  readonly end: number;
  /** Heights of the rows that are not drawn. */
  readonly above: number;
  readonly below: number;
}

const EXTRA = 15;
const FIRST_GUESS = 42;

/** Returns which of the `count` rows of the container to draw: those on the screen and a few more. All rows have the height of the first one drawn. */
export function useVisibleRows(container: RefObject<HTMLElement | null>, count: number): VisibleRows {
  const height = useSignal(FIRST_GUESS);
  const range = useSignal({ first: 0, end: 60 });

  useLayoutEffect(() => {
    const measure = () => {
      const body = container.current;
      const row = body?.querySelector<HTMLElement>('[aria-rowindex]');
      if (!body || !row) return;
      height.value = row.getBoundingClientRect().height || FIRST_GUESS;
      const top = -body.getBoundingClientRect().top;
      const first = Math.max(0, Math.floor(top / height.value) - EXTRA);
      const end = Math.ceil((top + window.innerHeight) / height.value) + EXTRA;
      if (first !== range.value.first || end !== range.value.end) range.value = { first, end };
    };
    measure();
    window.addEventListener('scroll', measure, { passive: true });
    window.addEventListener('resize', measure);
    return () => {
      window.removeEventListener('scroll', measure);
      window.removeEventListener('resize', measure);
    };
  }, [count]);

  const end = Math.min(count, range.value.end);
  const first = Math.max(0, Math.min(range.value.first, end - 1));
  return { first, end, above: first * height.value, below: (count - end) * height.value };
}
