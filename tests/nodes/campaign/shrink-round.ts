import { hasFailed } from './report.ts';
import type { RoundReport } from './report.ts';
import { shrink } from './shrink.ts';
import type { RoundOptions } from './round.ts';

export interface ShrinkOptions {
  /** Rounds that may be run. */
  readonly budget: number;
  readonly run: (round: RoundOptions) => Promise<RoundReport>;
  readonly onTrial?: (round: RoundOptions, failed: boolean) => void;
}

/**
 * Finds fewer faults, then fewer messages, with which a round still fails. Resolves with the smallest failing run, or with undefined if the
 * round does not fail this time.
 */
export async function shrinkRound(
  round: RoundOptions,
  { budget, run, onTrial = () => {} }: ShrinkOptions,
): Promise<RoundReport | undefined> {
  const trials = { left: budget };
  let smallest: RoundReport | undefined;
  const fails = async (candidate: RoundOptions): Promise<boolean> => {
    trials.left--;
    const report = await run(candidate);
    const failed = hasFailed(report);
    if (failed) smallest = report;
    onTrial(candidate, failed);
    return failed;
  };
  const schedule = await shrink(round.schedule, (faults) => fails({ ...round, schedule: faults }), {
    budget,
  });
  if (schedule === undefined) return undefined;
  let { messages } = round;
  while (
    trials.left > 0 &&
    messages > 1 &&
    (await fails({ ...round, schedule, messages: Math.floor(messages / 2) }))
  )
    messages = Math.floor(messages / 2);
  return smallest;
}
