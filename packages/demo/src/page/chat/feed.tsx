import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';

import { Bubble } from './bubble.tsx';
import type { ChatItem, Tapback } from './chat-item.ts';
import { useStickToEnd } from './stick-to-end.ts';

interface Props {
  readonly label: string;
  readonly items: readonly ChatItem[];
  readonly showsAuthors: boolean;
  readonly isRaw?: boolean;
  /** Shown above the first bubble, hidden from screen readers. */
  readonly heading?: ComponentChildren;
  readonly empty: string;
  readonly onTapback: (item: ChatItem, tapback: Tapback) => void;
  readonly onReplay?: (item: ChatItem) => void;
}

const MOVES: Record<string, (at: number, last: number) => number> = {
  ArrowUp: (at) => Math.max(0, at - 1),
  ArrowDown: (at, last) => Math.min(last, at + 1),
  Home: () => 0,
  End: (_at, last) => last,
};

/** A list of bubbles with a single tab stop. The arrow keys move between bubbles. */
export function Feed({
  label,
  items,
  showsAuthors,
  isRaw = false,
  heading,
  empty,
  onTapback,
  onReplay,
}: Props) {
  const feed = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState<string>();
  const [open, setOpen] = useState<string>();
  const stop = items.some(({ id }) => id === current) ? current : items.at(-1)?.id;

  const sticking = useStickToEnd(feed, [items, isRaw]);

  function focusOn(id: string | undefined): void {
    setCurrent(id);
    const bubbles = feed.current?.querySelectorAll<HTMLElement>('[data-id]') ?? [];
    [...bubbles].find((bubble) => bubble.dataset['id'] === id)?.focus();
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (!(event.target instanceof HTMLElement)) return;
    const focused = event.target.dataset['id'];
    const at = items.findIndex(({ id }) => id === focused);
    if (at === -1) return;
    const move = MOVES[event.key];
    const reacts = event.key === 't' || event.key === 'T' || event.key === 'Enter';
    if (move !== undefined) focusOn(items[move(at, items.length - 1)]?.id);
    else if (reacts && items[at]?.target !== undefined) setOpen(focused);
    else return;
    event.preventDefault();
  }

  return (
    <div class="feed" role="feed" aria-label={label} ref={feed} onKeyDown={onKeyDown} {...sticking}>
      {items.length === 0 && (
        <article class="feed-empty" tabIndex={0}>
          {empty}
        </article>
      )}
      {heading !== undefined && items.length > 0 && (
        <div class="feed-begins" aria-hidden="true">
          {heading}
        </div>
      )}
      {items.map((item, index) => (
        <Bubble
          key={item.id}
          item={item}
          isRaw={isRaw}
          author={showsAuthors && items[index - 1]?.author !== item.author ? item.author : undefined}
          isLast={items[index + 1]?.isMine !== item.isMine || items[index + 1]?.author !== item.author}
          isStop={item.id === stop}
          isOpen={item.id === open}
          onFocus={() => setCurrent(item.id)}
          onReplay={onReplay && (() => onReplay(item))}
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
