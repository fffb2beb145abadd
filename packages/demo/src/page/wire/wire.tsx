import { computed, signal } from '@preact/signals';
import { useRef } from 'preact/hooks';

import { useStickToEnd } from '../chat/stick-to-end.ts';
import { wire } from '../events.ts';
import { Detail } from './detail.tsx';
import { WireRow } from './wire-row.tsx';

const chosen = signal<number | undefined>(undefined);
export const opened = computed(() => wire.value.find(({ n }) => n === chosen.value));

/** Everything that crossed, in order, drawn between the three who talk. */
export function WirePane() {
  const list = useRef<HTMLOListElement>(null);
  const rows = wire.value;
  const stop = opened.value?.n ?? rows.at(-1)?.n;

  const sticking = useStickToEnd(list, [rows]);

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
        <span>Mac</span>
        <span>Footbridge</span>
        <span>CRM</span>
      </div>
      <ol
        class="wire-list"
        ref={list}
        aria-label="Calls and frames, oldest first"
        onKeyDown={onKeyDown}
        {...sticking}
      >
        {rows.map((entry) => (
          <WireRow
            key={entry.n}
            entry={entry}
            isOpen={entry.n === chosen.value}
            isStop={entry.n === stop}
            onOpen={() => (chosen.value = entry.n === chosen.value ? undefined : entry.n)}
          />
        ))}
      </ol>
      {opened.value !== undefined && <Detail key={opened.value.n} entry={opened.value} onClose={close} />}
    </div>
  );
}
