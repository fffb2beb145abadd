import { computed, signal } from '@preact/signals';

import { postAction } from '../post-action.ts';
import { about } from '../events.ts';

export interface Result {
  readonly held: boolean;
  readonly result: string;
  readonly ms: number;
}

export const chosen = signal(0);
export const running = signal<string | undefined>(undefined);
export const results = signal<ReadonlyMap<string, Result>>(new Map());
export const scenarios = computed(() => about.value?.breaks ?? []);

export const summary = computed(() => {
  const all = [...results.value.values()];
  return { run: all.length, passed: all.filter(({ held }) => held).length };
});

/** Does nothing while another scenario is running. */
export async function runScenario(id: string): Promise<void> {
  if (running.value !== undefined) return;
  running.value = id;
  chosen.value = Math.max(
    0,
    scenarios.value.findIndex((scenario) => scenario.id === id),
  );
  results.value = new Map([...results.value].filter(([other]) => other !== id));
  const started = performance.now();
  const outcome = await postAction<{ held: boolean; result: string }>('break', { id });
  running.value = undefined;
  const ms = performance.now() - started;
  const result = { held: false, result: 'the scenario could not be run', ...outcome, ms };
  results.value = new Map([...results.value, [id, result]]);
}

export async function runAll(): Promise<void> {
  for (const { id } of scenarios.value) await runScenario(id);
}
