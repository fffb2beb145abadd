import type { ClassicType } from '@footbridge/kit';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { Icon, TAPBACK_NAMES, TapbackIcon } from '@footbridge/ui/icons';
import { STICKERS, stickerFile } from '../generated-files.ts';
import { isSet } from './chat-item.ts';
import type { ChatItem, Tapback } from './chat-item.ts';
import { EmojiForm } from './emoji-form.tsx';
import { moveInside } from './move-inside.ts';

interface Props {
  readonly item: ChatItem;
  readonly onChoose: (tapback: Tapback) => void;
  readonly onClose: () => void;
}

const CLASSICS: readonly ClassicType[] = ['love', 'like', 'dislike', 'laugh', 'emphasize', 'question'];
const EMOJI = ['😍', '😂', '😮', '😢', '😎', '☕', '🎉', '🔥', '👏', '🙏', '🚲', '💯'];

/** The height with the emoji and a hint. */
const MAX_HEIGHT = 210;

/** Returns the height between the top of the feed and the bubble. What is above the feed cannot be scrolled to. */
function spaceAbove(bar: HTMLElement | null): number {
  const feed = bar?.closest('.feed');
  const holder = bar?.parentElement;
  if (feed === null || feed === undefined || holder === null || holder === undefined) return 0;
  return holder.getBoundingClientRect().top - feed.getBoundingClientRect().top;
}

/** The six Tapbacks, emoji and stickers. Choosing a reaction that is already set removes it. */
export function TapbackBar({ item, onChoose, onClose }: Props) {
  const bar = useRef<HTMLDivElement>(null);
  const [more, setMore] = useState<'emoji' | 'sticker'>();
  const [isBelow, setBelow] = useState(false);

  useLayoutEffect(() => {
    setBelow(spaceAbove(bar.current) < MAX_HEIGHT);
    bar.current?.querySelector('button')?.focus({ preventScroll: true });
    const outside = ({ target }: PointerEvent) => {
      if (target instanceof Node && bar.current?.contains(target) === false) onClose();
    };
    document.addEventListener('pointerdown', outside);
    return () => document.removeEventListener('pointerdown', outside);
  }, []);
  useLayoutEffect(() => bar.current?.scrollIntoView({ block: 'nearest' }), [more, isBelow]);

  const choice = (tapback: Tapback) => ({
    type: 'button' as const,
    'aria-pressed': isSet(item, tapback),
    onClick: () => onChoose(tapback),
  });
  const toggle = (panel: 'emoji' | 'sticker') => ({
    type: 'button' as const,
    'aria-expanded': more === panel,
    onClick: () => setMore(more === panel ? undefined : panel),
  });

  return (
    <div
      class={isBelow ? 'tapback-bar is-below' : 'tapback-bar'}
      role="toolbar"
      aria-label="React"
      ref={bar}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose();
        else if (!moveInside(event)) return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <div class="tapback-row">
        {CLASSICS.map((type) => (
          <button key={type} {...choice({ kind: 'classic', type })} aria-label={TAPBACK_NAMES[type]}>
            <TapbackIcon type={type} />
          </button>
        ))}
        <button {...toggle('emoji')} aria-label="Emoji">
          <Icon name="smile" />
        </button>
        <button {...toggle('sticker')} aria-label="Sticker">
          <Icon name="sticker" />
        </button>
      </div>
      {more === 'emoji' && (
        <div class="tapback-more">
          {EMOJI.map((emoji) => (
            <button key={emoji} {...choice({ kind: 'emoji', emoji })}>
              {emoji}
            </button>
          ))}
          <EmojiForm onEmoji={(emoji) => onChoose({ kind: 'emoji', emoji })} />
        </div>
      )}
      {more === 'sticker' && (
        <div class="tapback-more">
          {STICKERS.map((name) => (
            <button
              key={name}
              {...choice({ kind: 'sticker', sticker: name })}
              aria-label={`Sticker: ${name}`}
            >
              <img class="sticker-choice" src={`data:image/png;base64,${stickerFile(name).base64}`} alt="" />
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
