import type { Clock } from '@footbridge/runtime/clock';
import type { BlockingFailpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';

import type { Jobs, StepTrace } from '../../journal/journal.ts';
import type { MessageStore } from '../../ports/messages/messages.ts';
import type { Outcome, Unknown } from '../../outcome.ts';

/** The sends of one job. Each runs at most once, also across a crash (M4). */
export interface Steps {
  /** Whether a send of this job has begun, in this attempt or an earlier one. */
  haveBegun(): boolean;
  /** Whether an earlier attempt recorded that this send was made. */
  isDone(name: string): boolean;
  /**
   * Resolves with the outcome of an earlier attempt, or with undefined when there was none. An attempt without a recorded outcome is not
   * repeated: `findOutcome` looks for its outcome.
   */
  earlierResult(name: string, findOutcome?: FindOutcome): Promise<Outcome | undefined>;
  /** Runs `send` unless there was an earlier attempt. `trace` identifies the row of the send while its guid is not known. */
  once(
    name: string,
    send: () => Promise<Outcome>,
    findOutcome?: FindOutcome,
    trace?: Omit<StepTrace, 'at'>,
  ): Promise<Outcome>;
}

/**
 * Looks for the outcome of a send in the message store. `since` is the store position before the send; `fileName` is the file name in
 * its trace.
 */
export type FindOutcome = (since: number, fileName: string | undefined) => Promise<Outcome>;

export interface StepsDeps {
  readonly jobs: Jobs;
  readonly store: MessageStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: BlockingFailpoint;
  readonly timeoutMs: number;
  /** Names this job as the one to blame if the process ends during the send (I10). */
  readonly workOn: () => void;
}

/** The process that began a send died, and the outcome was not found. */
export const INTERRUPTED: Unknown = {
  state: 'unknown',
  code: 'INTERNAL_ERROR',
  message:
    'outcome unknown: the agent was interrupted while sending; it does not send this messageId again. Use a new messageId to retry.',
};

export function stepsOf(key: string, deps: StepsDeps): Steps {
  const { jobs, store, clock, failpoint, log } = deps;

  /** Resolves with the outcome that the store shows for an interrupted send, or with `result` when the store shows none. */
  async function lookUp(result: Unknown, find: (() => Promise<Outcome>) | undefined): Promise<Outcome> {
    if (find === undefined) return result;
    const found = await withTimeout(find, deps);
    return 'interrupted' in found || found.state === 'unknown' ? result : found;
  }

  function record(name: string, result: Outcome): Outcome {
    if (result.state === 'delivered') jobs.finishStep(key, name, result.guid);
    if (result.state === 'failed') jobs.discardStep(key, name);
    if (result.state === 'unknown')
      log.warn({ event: 'queue.outcome_unknown', key }, 'outcome of send unknown');
    return result;
  }

  const earlierResult: Steps['earlierResult'] = async (name, findOutcome) => {
    const step = jobs.findStep(key, name);
    if (step === undefined) return undefined;
    if (step.done) return { state: 'delivered', guid: step.guid ?? '' };
    const { watermark, fileName } = step;
    return record(name, await lookUp(INTERRUPTED, findOutcome && (() => findOutcome(watermark, fileName))));
  };

  return {
    haveBegun: () => jobs.hasSteps(key),
    isDone: (name) => jobs.findStep(key, name)?.done === true,
    earlierResult,
    once: async (name, send, findOutcome, trace) => {
      const earlier = await earlierResult(name, findOutcome);
      if (earlier !== undefined) return earlier;
      failpoint('step.before');
      const since = store.position();
      jobs.beginStep(key, name, since, trace && { ...trace, at: clock.now() });
      failpoint('step.begun');
      deps.workOn();
      const sent = await withTimeout(send, deps);
      failpoint('step.sent');
      // An engine that returned has looked for the outcome itself.
      const find = findOutcome && (() => findOutcome(since, trace?.fileName));
      const result = record(name, 'interrupted' in sent ? await lookUp(sent.interrupted, find) : sent);
      failpoint('step.recorded');
      return result;
    },
  };
}

/** Resolves with `interrupted` when the engine throws or takes too long. */
async function withTimeout(
  send: () => Promise<Outcome>,
  deps: StepsDeps,
): Promise<Outcome | { readonly interrupted: Unknown }> {
  const { clock, timeoutMs, log } = deps;
  const ended = new AbortController();
  const timeout = clock.sleep(timeoutMs, ended.signal).then(() => {
    const message = `outcome unknown: Messages did not respond for ${timeoutMs / 1000} s`;
    return { interrupted: { state: 'unknown', code: 'TIMEOUT', message } } as const;
  });
  try {
    return await Promise.race([send(), timeout]);
  } catch (error) {
    log.error({ event: 'messages.send_threw', err: error }, 'send or lookup threw, outcome unknown');
    const message = 'outcome unknown: an unexpected error while sending';
    return { interrupted: { state: 'unknown', code: 'INTERNAL_ERROR', message } };
  } finally {
    ended.abort();
  }
}
