import { faultKinds } from './fault-kinds.ts';
import type { ProgressState } from './progress.ts';
import { hasFailed } from './report.ts';
import type { CampaignOptions, CampaignReport, RoundReport } from './report.ts';
import { runRound } from './round.ts';
import type { RoundOptions } from './round.ts';
import { createSchedule, shareOf } from './schedule.ts';

export interface CampaignHooks {
  /** Where the logs of failed rounds go. */
  readonly logsDir?: string;
  readonly onProgress?: (state: ProgressState) => void;
  /** Ends the round under way, with InterruptedError. */
  readonly signal?: AbortSignal;
  /** After each round, with all rounds so far. */
  readonly onRound?: (report: CampaignReport) => void;
}

/** The seeds of neighbouring rounds must not give the same Macs the same numbers. */
const SEEDS_PER_ROUND = 1000;

/** Runs the rounds that `done` does not contain. */
export async function runCampaign(
  options: CampaignOptions,
  { logsDir, signal, onProgress = () => {}, onRound = () => {} }: CampaignHooks = {},
  done: CampaignReport = { options, startedAt: new Date().toISOString(), rounds: [] },
): Promise<CampaignReport> {
  let report = done;
  const plan = planRounds(options);
  for (const planned of plan.slice(done.rounds.length)) {
    const before = report.rounds;
    const round = await runRound({
      ...planned,
      ...(logsDir !== undefined && { logsDir }),
      ...(signal !== undefined && { signal }),
      onProgress: ({ messages, faults }) =>
        onProgress({
          round: planned.round,
          rounds: plan.length,
          messages: 2 * sum(before.map((one) => one.messages)) + messages,
          allMessages: 2 * options.messages,
          faults: sum(before.map(({ schedule }) => schedule.length)) + faults,
          allFaults: options.faults,
          violations: sum(before.map(({ evidence, bugs }) => evidence.length + bugs.length)),
        }),
    });
    report = { ...report, rounds: [...before, round] };
    onRound(report);
  }
  return report;
}

export function planRounds(options: CampaignOptions): RoundOptions[] {
  const { messages, seed, nodes, locations, agents, roundSize } = options;
  const schedule = createSchedule({ ...options, kinds: faultKinds({ agents }) });
  const rounds = Math.ceil(messages / roundSize);
  const numbers = Array.from({ length: messages }, (_, index) => index);
  return Array.from({ length: rounds }, (_, round) => ({
    round,
    messages: shareOf(numbers, round, rounds).length,
    seed: seed + round * SEEDS_PER_ROUND,
    nodes,
    locations,
    agents,
    schedule: shareOf(schedule, round, rounds),
  }));
}

/** Returns the options that run the first failed round of a report again. */
export function failedRoundOf({ options, rounds }: CampaignReport): RoundOptions | undefined {
  const failed = rounds.find(hasFailed);
  return failed && roundAgain(failed, options);
}

const roundAgain = (
  { round, messages, seed, schedule }: RoundReport,
  { nodes, locations, agents }: CampaignOptions,
): RoundOptions => ({
  round,
  messages,
  seed,
  nodes,
  locations,
  agents,
  schedule: [...schedule].sort((a, b) => a.index - b.index),
});

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
