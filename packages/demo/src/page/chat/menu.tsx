import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { Icon } from '@footbridge/ui/icons';
import type { IconName } from '@footbridge/ui/icons';
import { moveInside } from './move-inside.ts';

export interface Choice {
  readonly label: string;
  readonly picture?: ComponentChildren;
  readonly run: () => void;
}

/** A button that runs its only choice, or opens a menu if there are several. */
export function Menu({
  icon,
  label,
  choices,
}: {
  icon: IconName;
  label: string;
  choices: readonly Choice[];
}) {
  const holder = useRef<HTMLSpanElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [only, ...others] = choices;

  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    holder.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus();
    const outside = ({ target }: PointerEvent) => {
      if (target instanceof Node && holder.current?.contains(target) === false) setOpen(false);
    };
    document.addEventListener('pointerdown', outside);
    return () => document.removeEventListener('pointerdown', outside);
  }, [isOpen]);

  function close(): void {
    setOpen(false);
    holder.current?.querySelector<HTMLElement>('button')?.focus();
  }

  if (others.length === 0) {
    return (
      <button type="button" class="quiet-button" aria-label={label} title={label} onClick={() => only?.run()}>
        <Icon name={icon} />
      </button>
    );
  }
  return (
    <span class="menu-holder" ref={holder}>
      <button
        type="button"
        class="quiet-button"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name={icon} />
      </button>
      {isOpen && (
        <div
          class="menu"
          role="menu"
          aria-label={label}
          onKeyDown={(event) => {
            if (event.key === 'Escape') close();
            else if (!moveInside(event)) return;
            event.preventDefault();
          }}
        >
          {choices.map((choice) => (
            <button
              key={choice.label}
              type="button"
              role="menuitem"
              onClick={() => {
                close();
                choice.run();
              }}
            >
              {choice.picture}
              {choice.label}
            </button>
          ))}
        </div>
      )}
    </span>
  );
}
