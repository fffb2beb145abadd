import { computed, signal } from '@preact/signals';
import { Fragment } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

import { useStickToEnd } from '../chat/stick-to-end.ts';
import { wire } from '../events.ts';
import { Icon } from '../icons.tsx';
import type { Exchange } from '../types.ts';
import { Detail } from './detail.tsx';
import { headingFor } from './explain.ts';
import type { Heading } from './explain.ts';
import { WireHeading, WireRow } from './wire-row.tsx';

const chosen = signal<number | undefined>(undefined);
export const opened = computed(() => wire.value.find(({ n }) => n === chosen.value));

/** Entries with the headings above them. A repeated heading is shown only once. */
const rowsWithHeadings = computed(() => {
  let last: Heading | undefined;
  return wire.value.map((entry, index): { entry: Exchange; heading: Heading | undefined } => {
    const heading = headingFor(entry, wire.value[index - 1]);
    if (heading === undefined) return { entry, heading };
    const isNew = heading.title !== last?.title || heading.quote !== last.quote;
    last = heading;
    return { entry, heading: isNew ? heading : undefined };
  });
});

/** The recorded traffic in order, drawn between the Mac, Footbridge and the CRM. */
export function WirePane() {
  const list = useRef<HTMLOListElement>(null);
  const rows = wire.value;
  const stop = opened.value?.n ?? rows.at(-1)?.n;

  const sticking = useStickToEnd(list, [rows], opened.value !== undefined);
  useLayoutEffect(() => {
    list.current?.querySelector(`[data-n="${chosen.value}"]`)?.scrollIntoView({ block: 'center' });
  }, [chosen.value]);

  function onKeyDown(event: KeyboardEvent): void {
    const buttons = [...(list.current?.querySelectorAll('button') ?? [])];
    const at = buttons.findIndex((button) => button === event.target);
    const next = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    buttons[Math.min(Math.max(next, 0), buttons.length - 1)]?.focus();
  }

  function close(): void {
    const n = chosen.value;
    chosen.value = undefined;
    list.current?.querySelector<HTMLElement>(`[data-n="${n}"]`)?.focus();
  }

  return (
    <div class={opened.value === undefined ? 'wire' : 'wire is-split'}>
      <div class="wire-heads" aria-hidden="true">
        <span>
          <Icon name="mac" /> Mac
        </span>
        <span>Footbridge</span>
        <span>
          CRM <Icon name="desk" />
        </span>
      </div>
      <ol
        class="wire-list"
        ref={list}
        aria-label="Calls and frames, oldest first"
        onKeyDown={onKeyDown}
        {...sticking}
      >
        {rowsWithHeadings.value.map(({ entry, heading }) => (
          <Fragment key={entry.n}>
            {heading !== undefined && <WireHeading heading={heading} at={entry.at} />}
            <WireRow
              entry={entry}
              isOpen={entry.n === chosen.value}
              isStop={entry.n === stop}
              onOpen={() => (chosen.value = entry.n === chosen.value ? undefined : entry.n)}
            />
          </Fragment>
        ))}
      </ol>
      {opened.value !== undefined && <Detail key={opened.value.n} entry={opened.value} onClose={close} />}
    </div>
  );
}
