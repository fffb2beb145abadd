import type { Clock } from '@footbridge/runtime/clock';
import type { BlockingFailpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';

import type { Jobs } from '../../ports/journal/journal.ts';
import type { MessageStore, SendResult } from '../../ports/messages/messages.ts';

/** The sends of one job. Each runs at most once, also across a crash (M4). */
export interface Steps {
  /**
   * Runs `send` unless an earlier attempt has. An attempt that began and has no known end is not repeated: `outcome` looks for
   * its end in the message store, from the position before it.
   */
  once(
    name: string,
    send: () => Promise<SendResult>,
    outcome?: (since: number) => Promise<SendResult>,
  ): Promise<SendResult>;
}

export interface StepsDeps {
  readonly jobs: Jobs;
  readonly store: MessageStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: BlockingFailpoint;
  readonly timeoutMs: number;
}

const INTERRUPTED: SendResult = {
  result: 'unknown',
  code: 'INTERNAL_ERROR',
  message:
    'outcome unknown: the agent was interrupted while sending; it does not send this messageId again. Use a new messageId to retry.',
};

export function stepsOf(key: string, deps: StepsDeps): Steps {
  const { jobs, store, failpoint, log } = deps;

  /** Returns the outcome that the store shows, or `result` if it does not show any. */
  async function lookUp(
    result: SendResult,
    since: number,
    outcome: ((since: number) => Promise<SendResult>) | undefined,
  ): Promise<SendResult> {
    if (result.result !== 'unknown') return result;
    const found = outcome === undefined ? result : await withTimeout(() => outcome(since), deps);
    if (found.result !== 'unknown') return found;
    log.warn({ event: 'queue.outcome_unknown', key }, 'outcome of a send unknown');
    return result;
  }

  function record(name: string, result: SendResult): SendResult {
    if (result.result === 'sent') jobs.finishStep(key, name, result.guid);
    if (result.result === 'failed') jobs.discardStep(key, name);
    return result;
  }

  return {
    once: async (name, send, outcome) => {
      const earlier = jobs.findStep(key, name);
      if (earlier?.done === true) return { result: 'sent', guid: earlier.guid ?? '' };
      if (earlier !== undefined) return record(name, await lookUp(INTERRUPTED, earlier.watermark, outcome));
      failpoint('step.before');
      const since = store.position();
      jobs.beginStep(key, name, since);
      failpoint('step.begun');
      const sent = await withTimeout(send, deps);
      failpoint('step.sent');
      const result = record(name, await lookUp(sent, since, outcome));
      failpoint('step.recorded');
      return result;
    },
  };
}

async function withTimeout(send: () => Promise<SendResult>, deps: StepsDeps): Promise<SendResult> {
  const { clock, timeoutMs, log } = deps;
  const settled = new AbortController();
  const timeout = clock.sleep(timeoutMs, settled.signal).then((): SendResult => {
    const message = `outcome unknown: Messages did not respond for ${timeoutMs / 1000} s`;
    return { result: 'unknown', code: 'TIMEOUT', message };
  });
  try {
    return await Promise.race([send(), timeout]);
  } catch (error) {
    log.error({ event: 'messages.send_threw', err: error }, 'send threw, outcome unknown');
    return {
      result: 'unknown',
      code: 'INTERNAL_ERROR',
      message: 'outcome unknown: an unexpected error while sending',
    };
  } finally {
    settled.abort();
  }
}
