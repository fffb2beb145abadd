import { CRM_HONOURS_IDEMPOTENCY_KEY } from './demo.ts';
import type { Demo } from './demo.ts';
import { SCENARIOS } from './scenarios.ts';
import type { Outcome, Scenario } from './scenarios.ts';

export type ScenarioResult = Outcome & { readonly ms: number };

/** The state of the scenarios. Every open page shows the same. */
export interface ScenarioState {
  readonly honoursIdempotencyKey: boolean;
  readonly running: { readonly id: string; readonly startedAt: number } | undefined;
  readonly results: Readonly<Record<string, ScenarioResult>>;
  /** How many runs have ended since the start, repeated ones included. */
  readonly runs: number;
}

/** Runs the scenarios, one at a time, and reports every change of their state. */
export class ScenarioRunner {
  readonly #demo: Demo;
  readonly #onChange: (state: ScenarioState) => void;
  #isBusy = false;
  #state: ScenarioState = {
    honoursIdempotencyKey: CRM_HONOURS_IDEMPOTENCY_KEY,
    running: undefined,
    results: {},
    runs: 0,
  };

  constructor(demo: Demo, onChange: (state: ScenarioState) => void) {
    this.#demo = demo;
    this.#onChange = onChange;
    this.#change({});
  }

  /** Runs the scenarios in order. Throws if others are running; a scenario that fails is a result, not an error. */
  async run(
    scenarios: readonly Scenario[],
    report: (scenario: Scenario, result: ScenarioResult) => void = () => undefined,
  ): Promise<void> {
    this.#start();
    try {
      for (const scenario of scenarios) report(scenario, await this.#runOne(scenario));
    } finally {
      this.#isBusy = false;
      this.#change({ running: undefined });
    }
  }

  /** Switches the CRM. The results are cleared, because they were measured with the other setting. */
  async honourIdempotencyKey(honoursIdempotencyKey: boolean): Promise<void> {
    this.#start();
    try {
      await this.#demo.crm.set({ honourIdempotencyKey: honoursIdempotencyKey });
      this.#change({ honoursIdempotencyKey, results: {} });
    } finally {
      this.#isBusy = false;
    }
  }

  #start(): void {
    if (this.#isBusy) throw new Error('A scenario is already running. Wait until it has finished.');
    this.#isBusy = true;
  }

  async #runOne(scenario: Scenario): Promise<ScenarioResult> {
    const { [scenario.id]: _previous, ...others } = this.#state.results;
    this.#change({ running: { id: scenario.id, startedAt: Date.now() }, results: others });
    const started = performance.now();
    const outcome = await scenario.run(this.#demo).catch((error: unknown) => ({
      held: false,
      result: error instanceof Error ? error.message : String(error),
    }));
    await this.#demo.crm.clearFaults();
    const result = { ...outcome, ms: Math.round(performance.now() - started) };
    this.#change({ results: { ...others, [scenario.id]: result }, runs: this.#state.runs + 1 });
    return result;
  }

  #change(change: Partial<ScenarioState>): void {
    this.#state = { ...this.#state, ...change };
    this.#onChange(this.#state);
  }
}

/** Returns the scenario with that id, or all of them. */
export function scenariosNamed(id: unknown): readonly Scenario[] {
  if (id === undefined) return SCENARIOS;
  const found = SCENARIOS.filter((scenario) => scenario.id === id);
  if (found.length === 0) throw new Error('Unknown scenario.');
  return found;
}
