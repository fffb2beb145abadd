import { computed, signal } from '@preact/signals';

import { ask } from '../ask.ts';
import { about } from '../events.ts';

export interface Result {
  readonly held: boolean;
  readonly result: string;
  readonly ms: number;
}

export const chosen = signal(0);
export const running = signal<string | undefined>(undefined);
export const results = signal<ReadonlyMap<string, Result>>(new Map());
export const switches = computed(() => about.value?.breaks ?? []);

export const tally = computed(() => {
  const all = [...results.value.values()];
  return { tried: all.length, held: all.filter(({ held }) => held).length };
});

/** One thing at a time. */
export async function runBreak(id: string): Promise<void> {
  if (running.value !== undefined) return;
  running.value = id;
  chosen.value = Math.max(
    0,
    switches.value.findIndex((one) => one.id === id),
  );
  results.value = new Map([...results.value].filter(([one]) => one !== id));
  const started = performance.now();
  const outcome = await ask<{ held: boolean; result: string }>('break', { id });
  running.value = undefined;
  const ms = performance.now() - started;
  const result = { held: false, result: 'it could not be tried', ...outcome, ms };
  results.value = new Map([...results.value, [id, result]]);
}

export async function runAll(): Promise<void> {
  for (const { id } of switches.value) await runBreak(id);
}
