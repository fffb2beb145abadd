import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

const NEAR = 60;

/**
 * Keeps a growing list scrolled to its end. Scrolling up stops this, scrolling back to the end resumes it. While `isPaused`
 * is set, the list does not scroll.
 */
export function useStickToEnd<T extends HTMLElement>(
  list: RefObject<T | null>,
  dependencies: readonly unknown[],
  isPaused = false,
) {
  const paused = useRef(isPaused);
  paused.current = isPaused;
  const isAtEnd = useRef(true);
  const lastTop = useRef(0);

  function scrollToEnd(): void {
    if (isAtEnd.current && !paused.current && list.current !== null)
      list.current.scrollTop = list.current.scrollHeight;
  }
  useLayoutEffect(scrollToEnd, dependencies);
  useEffect(() => {
    const observer = new ResizeObserver(scrollToEnd);
    if (list.current !== null) observer.observe(list.current);
    return () => observer.disconnect();
  }, []);

  return {
    onLoadCapture: scrollToEnd,
    onScroll({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: { currentTarget: T }) {
      if (scrollHeight - scrollTop - clientHeight < NEAR) isAtEnd.current = true;
      else if (scrollTop < lastTop.current) isAtEnd.current = false;
      lastTop.current = scrollTop;
    },
  };
}
