import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { Bubble } from './bubble.tsx';
import type { ChatItem, Tapback } from './chat-item.ts';

interface Props {
  readonly label: string;
  readonly items: readonly ChatItem[];
  readonly showsAuthors: boolean;
  readonly isRaw?: boolean;
  readonly empty: string;
  readonly onTapback: (item: ChatItem, tapback: Tapback) => void;
}

const NEAR = 80;
const MOVES: Record<string, (at: number, last: number) => number> = {
  ArrowUp: (at) => Math.max(0, at - 1),
  ArrowDown: (at, last) => Math.min(last, at + 1),
  Home: () => 0,
  End: (_at, last) => last,
};

/** Bubbles with one tab stop for all of them: the arrow keys move inside. */
export function Feed({ label, items, showsAuthors, isRaw = false, empty, onTapback }: Props) {
  const feed = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [current, setCurrent] = useState<string>();
  const [open, setOpen] = useState<string>();
  const stop = items.some(({ id }) => id === current) ? current : items.at(-1)?.id;

  useLayoutEffect(() => {
    if (isAtEnd.current && feed.current !== null) feed.current.scrollTop = feed.current.scrollHeight;
  }, [items, isRaw]);

  function focusOn(id: string | undefined): void {
    setCurrent(id);
    const bubbles = feed.current?.querySelectorAll<HTMLElement>('[data-id]') ?? [];
    [...bubbles].find((bubble) => bubble.dataset['id'] === id)?.focus();
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (!(event.target instanceof HTMLElement) || event.target.dataset['id'] === undefined) return;
    const at = items.findIndex(({ id }) => id === stop);
    const move = MOVES[event.key];
    const reacts = event.key === 't' || event.key === 'T' || event.key === 'Enter';
    if (move !== undefined) focusOn(items[move(at, items.length - 1)]?.id);
    else if (reacts && items[at]?.target !== undefined) setOpen(stop);
    else return;
    event.preventDefault();
  }

  return (
    <div
      class="feed"
      role="feed"
      aria-label={label}
      ref={feed}
      onKeyDown={onKeyDown}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR;
      }}
    >
      {items.length === 0 && (
        <article class="feed-empty" tabIndex={0}>
          {empty}
        </article>
      )}
      {items.map((item, index) => (
        <Bubble
          key={item.id}
          item={item}
          isRaw={isRaw}
          author={showsAuthors && items[index - 1]?.author !== item.author ? item.author : undefined}
          isStop={item.id === stop}
          isOpen={item.id === open}
          onOpen={() => {
            setCurrent(item.id);
            setOpen(item.id);
          }}
          onClose={() => {
            setOpen(undefined);
            focusOn(item.id);
          }}
          onTapback={(tapback) => {
            setOpen(undefined);
            focusOn(item.id);
            onTapback(item, tapback);
          }}
        />
      ))}
    </div>
  );
}
