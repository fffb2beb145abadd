import { computed, effect, signal } from '@preact/signals';

import { about, scenarioState } from '../events.ts';
import { postAction } from '../post-action.ts';
import type { ScenarioResult } from '../types.ts';

export const chosen = signal(0);
export const scenarios = computed(() => about.value?.breaks ?? []);
/** Of all pages: a scenario that another page started is running here too. */
export const running = computed(() => scenarioState.value?.running);
export const runs = computed(() => scenarioState.value?.runs ?? 0);
const results = computed(() => scenarioState.value?.results ?? {});

export const summary = computed(() => {
  const all = Object.values(results.value);
  return { run: all.length, passed: all.filter(({ held }) => held).length };
});

export const resultOf = (id: string): ScenarioResult | undefined => results.value[id];

/** Shows the scenario that is running. */
effect(() => {
  const index = scenarios.value.findIndex(({ id }) => id === running.value?.id);
  if (index !== -1) chosen.value = index;
});

export const runScenario = (id: string): Promise<unknown> => postAction('break', { id });

export const runAll = (): Promise<unknown> => postAction('break', {});
