import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { Icon } from '@footbridge/ui/icons';

const NEAR = 60;

interface FollowOptions {
  /** Increases with every new item. */
  readonly count: number;
  /** A change starts to follow again: another chat, or an own message. */
  readonly restart?: unknown;
  /** While set, the list does not scroll by itself. */
  readonly isPaused?: boolean;
}

/**
 * Keeps a growing list scrolled to its end. Scrolling up stops this and counts the items that arrive meanwhile; scrolling
 * back to the end, or `follow`, resumes it.
 */
export function useFollow<T extends HTMLElement>(
  list: RefObject<T | null>,
  { count, restart, isPaused = false }: FollowOptions,
) {
  const [unseen, setUnseen] = useState(0);
  const memory = useRef({
    isFollowing: true,
    isPaused,
    wasPaused: isPaused,
    count,
    restart,
    top: 0,
    height: 0,
  }).current;
  memory.isPaused = isPaused;

  function isNearEnd(): boolean {
    if (list.current === null) return true;
    const { scrollHeight, scrollTop, clientHeight } = list.current;
    return scrollHeight - scrollTop - clientHeight < NEAR;
  }
  function scrollToEnd(): void {
    if (list.current === null || memory.isPaused || !memory.isFollowing) return;
    list.current.scrollTop = list.current.scrollHeight;
    memory.top = list.current.scrollTop;
    memory.height = list.current.scrollHeight;
  }
  function follow(): void {
    memory.isFollowing = true;
    setUnseen(0);
    list.current?.scrollTo({ top: list.current.scrollHeight });
  }

  useLayoutEffect(() => {
    const added = count - memory.count;
    memory.count = count;
    if (memory.restart !== restart) {
      memory.restart = restart;
      memory.isFollowing = true;
    } else if (memory.wasPaused && !isPaused) memory.isFollowing = isNearEnd();
    memory.wasPaused = isPaused;
    if (memory.isFollowing && !isPaused) setUnseen(0);
    else if (added > 0) setUnseen((before) => before + added);
    scrollToEnd();
  });
  useEffect(() => {
    const observer = new ResizeObserver(scrollToEnd);
    if (list.current !== null) observer.observe(list.current);
    return () => observer.disconnect();
  }, []);

  function onScroll({ currentTarget: { scrollHeight, scrollTop } }: { currentTarget: T }): void {
    if (isNearEnd()) {
      memory.isFollowing = true;
      setUnseen(0);
    } else if (scrollTop < memory.top && scrollHeight >= memory.height && !memory.isPaused) {
      // A list that became shorter moves up by itself; the user did not scroll it.
      memory.isFollowing = false;
    }
    memory.top = scrollTop;
    memory.height = scrollHeight;
  }

  return { unseen, follow, listProps: { onLoadCapture: scrollToEnd, onScroll } };
}

interface NewItemsProps {
  readonly count: number;
  readonly what: string;
  readonly onClick: () => void;
}

/** Shows how many items arrived below the visible ones, and scrolls to them. */
export function NewItems({ count, what, onClick }: NewItemsProps) {
  if (count === 0) return null;
  return (
    <button type="button" class="new-items" onClick={onClick}>
      <Icon name="down" /> {count} new {count === 1 ? what : `${what}s`}
    </button>
  );
}
