import { computed, signal } from '@preact/signals';
import { Fragment } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

import { NewItems, useFollow } from '../chat/follow.tsx';
import { wire } from '../events.ts';
import { Icon } from '@footbridge/ui/icons';
import type { CallOrFrame } from '../types.ts';
import { Detail } from './detail.tsx';
import { groupByMessage, joinEqual } from './groups.ts';
import type { Group } from './groups.ts';
import { WireEvent, WireHeading, WireMore, WireRow } from './wire-row.tsx';

const chosen = signal<number | undefined>(undefined);
export const opened = computed(() =>
  wire.value.find((entry): entry is CallOrFrame => entry.n === chosen.value && entry.kind !== 'event'),
);
const bursts = computed(() => joinEqual(groupByMessage(wire.value)));
/** The bursts that show all of their groups, by the id of the first one. */
const unfolded = signal<ReadonlySet<string>>(new Set());

/** More groups than this with the same heading are folded. */
const MAX_EQUAL = 2;

function shownGroups(groups: readonly [Group, ...Group[]]): readonly Group[] {
  return unfolded.value.has(groups[0].id) ? groups : groups.slice(0, MAX_EQUAL);
}

function toggle(id: string): void {
  const next = new Set(unfolded.value);
  if (!next.delete(id)) next.add(id);
  unfolded.value = next;
}

/** The recorded traffic by message, drawn between the Mac, Footbridge and the CRM. */
export function WirePane() {
  const list = useRef<HTMLOListElement>(null);
  const shown = bursts.value.flatMap((burst) => ('groups' in burst ? shownGroups(burst.groups) : []));
  const stop = opened.value?.n ?? shown.at(-1)?.rows.at(-1)?.n;
  const { unseen, follow, listProps } = useFollow(list, {
    count: wire.value.at(-1)?.n ?? 0,
    isPaused: opened.value !== undefined,
  });
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
      <div class="follow-holder">
        <ol
          class="wire-list"
          ref={list}
          aria-label="Calls and frames by message, oldest first"
          onKeyDown={onKeyDown}
          {...listProps}
        >
          {bursts.value.map((burst) =>
            'groups' in burst ? (
              <Fragment key={burst.groups[0].id}>
                <WireHeading
                  heading={burst.groups[0].heading}
                  at={burst.groups[0].at}
                  times={burst.groups.length}
                />
                {shownGroups(burst.groups).flatMap(({ rows }) =>
                  rows.map((entry) => (
                    <WireRow
                      key={entry.n}
                      entry={entry}
                      isOpen={entry.n === chosen.value}
                      isStop={entry.n === stop}
                      onOpen={() => (chosen.value = entry.n === chosen.value ? undefined : entry.n)}
                    />
                  )),
                )}
                {burst.groups.length > MAX_EQUAL && (
                  <WireMore
                    count={burst.groups.length - MAX_EQUAL}
                    isOpen={unfolded.value.has(burst.groups[0].id)}
                    onToggle={() => toggle(burst.groups[0].id)}
                  />
                )}
              </Fragment>
            ) : (
              <WireEvent key={burst.n} event={burst} />
            ),
          )}
        </ol>
        <NewItems count={unseen} what="row" onClick={follow} />
      </div>
      {opened.value !== undefined && <Detail key={opened.value.n} entry={opened.value} onClose={close} />}
    </div>
  );
}
