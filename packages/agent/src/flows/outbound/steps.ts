import type { Clock } from '../../clock.ts';
import type { Failpoint } from '../../failpoint.ts';
import type { Log } from '../../log.ts';
import type { Jobs } from '../../ports/journal/journal.ts';
import type { MessageStore, SendResult } from '../../ports/messages/messages.ts';

/** The sends of one job, each of which happens at most once, also across a crash (M4). */
export interface Steps {
  /** Sends unless an earlier attempt did. What began and was never seen to end is not begun again. */
  once(name: string, send: () => Promise<SendResult>): Promise<SendResult>;
}

const LOST: SendResult = {
  result: 'unknown',
  code: 'INTERNAL_ERROR',
  message: 'outcome unknown: an earlier attempt was interrupted while sending; it is not sent again',
};

export function stepsOf(
  key: string,
  parts: {
    jobs: Jobs;
    store: MessageStore;
    clock: Clock;
    log: Log;
    failpoint: Failpoint;
    /** After this long Messages is taken to be stuck. */
    limitMs: number;
  },
): Steps {
  const { jobs, store, clock, log, failpoint, limitMs } = parts;
  return {
    once: async (name, send) => {
      const earlier = jobs.findStep(key, name);
      if (earlier?.done === true) return { result: 'sent', guid: earlier.guid ?? '' };
      if (earlier !== undefined) return LOST;
      failpoint('step.before');
      jobs.beginStep(key, name, store.newestRowid());
      failpoint('step.begun');
      const result = await withinLimit(send, clock, limitMs, log);
      failpoint('step.sent');
      if (result.result === 'sent') jobs.finishStep(key, name, result.guid);
      if (result.result === 'failed') jobs.discardStep(key, name);
      failpoint('step.recorded');
      return result;
    },
  };
}

async function withinLimit(
  send: () => Promise<SendResult>,
  clock: Clock,
  limitMs: number,
  log: Log,
): Promise<SendResult> {
  const given = new AbortController();
  const limit = clock.sleep(limitMs, given.signal).then((): SendResult => {
    const message = `outcome unknown: Messages did not answer for ${limitMs / 1000} s`;
    return { result: 'unknown', code: 'TIMEOUT', message };
  });
  try {
    return await Promise.race([send(), limit]);
  } catch (error) {
    log.error({ err: error }, 'sending broke off');
    return {
      result: 'unknown',
      code: 'INTERNAL_ERROR',
      message: 'outcome unknown: sending broke off unexpectedly',
    };
  } finally {
    given.abort();
  }
}
