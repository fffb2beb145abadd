import { Fragment } from 'preact';
import { useRef, useState } from 'preact/hooks';

import { dayAndTime } from '../time.ts';
import { Bubble } from './bubble.tsx';
import type { ChatItem, Tapback } from './chat-item.ts';
import { NewItems, useFollow } from './follow.tsx';

interface Props {
  readonly label: string;
  readonly items: readonly ChatItem[];
  readonly showsAuthors: boolean;
  readonly isRaw?: boolean;
  /** Shown above the time of the first bubble, hidden from screen readers. */
  readonly heading?: string;
  readonly empty: string;
  readonly onTapback: (item: ChatItem, tapback: Tapback) => void;
  readonly onReplay?: (item: ChatItem) => void;
  /** A change scrolls to the end: another conversation, or a message written here. */
  readonly followAgain: string;
}

/** A pause after which the time is shown again. */
const PAUSE_MS = 15 * 60_000;

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
  followAgain,
}: Props) {
  const feed = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState<string>();
  const [open, setOpen] = useState<string>();
  const stop = items.some(({ id }) => id === current) ? current : items.at(-1)?.id;

  const { unseen, follow, listProps } = useFollow(feed, {
    count: items.length,
    restart: followAgain,
    isPaused: open !== undefined,
  });

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
    <div class="follow-holder">
      <div class="feed" role="feed" aria-label={label} ref={feed} onKeyDown={onKeyDown} {...listProps}>
        {items.length === 0 && (
          <article class="feed-empty" tabIndex={0}>
            {empty}
          </article>
        )}
        {items.map((item, index) => (
          <Fragment key={item.id}>
            {item.at - (items[index - 1]?.at ?? -Infinity) > PAUSE_MS && (
              <div class="feed-time" aria-hidden="true">
                {index === 0 && heading !== undefined && <strong>{heading}</strong>}
                <time dateTime={new Date(item.at).toISOString()}>{dayAndTime(item.at)}</time>
              </div>
            )}
            <Bubble
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
          </Fragment>
        ))}
      </div>
      <NewItems count={unseen} what="message" onClick={follow} />
    </div>
  );
}
