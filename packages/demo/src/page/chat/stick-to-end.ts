import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

const NEAR = 60;

/**
 * Keeps a list at its end while it grows, until somebody scrolls up; scrolling back down takes hold again. While `isHeld`
 * it stays where it is.
 */
export function useStickToEnd<T extends HTMLElement>(
  list: RefObject<T | null>,
  grownBy: readonly unknown[],
  isHeld = false,
) {
  const held = useRef(isHeld);
  held.current = isHeld;
  const isAtEnd = useRef(true);
  const lastTop = useRef(0);

  function stay(): void {
    if (isAtEnd.current && !held.current && list.current !== null)
      list.current.scrollTop = list.current.scrollHeight;
  }
  useLayoutEffect(stay, grownBy);
  useEffect(() => {
    const observer = new ResizeObserver(stay);
    if (list.current !== null) observer.observe(list.current);
    return () => observer.disconnect();
  }, []);

  return {
    onLoadCapture: stay,
    onScroll({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: { currentTarget: T }) {
      if (scrollHeight - scrollTop - clientHeight < NEAR) isAtEnd.current = true;
      else if (scrollTop < lastTop.current) isAtEnd.current = false;
      lastTop.current = scrollTop;
    },
  };
}
