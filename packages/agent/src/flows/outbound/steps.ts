import type { Clock } from '@footbridge/runtime/clock';
import type { BlockingFailpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';

import type { Jobs } from '../../ports/journal/journal.ts';
import type { MessageStore, SendResult } from '../../ports/messages/messages.ts';

/** The sends of one job. Each runs at most once, also across a crash (M4). */
export interface Steps {
  /** Runs `send` unless an earlier attempt has. An attempt that began and has no recorded end is not repeated. */
  once(name: string, send: () => Promise<SendResult>): Promise<SendResult>;
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
  message: 'outcome unknown: an earlier attempt was interrupted while sending; it is not sent again',
};

export function stepsOf(key: string, deps: StepsDeps): Steps {
  const { jobs, store, failpoint } = deps;
  return {
    once: async (name, send) => {
      const earlier = jobs.findStep(key, name);
      if (earlier?.done === true) return { result: 'sent', guid: earlier.guid ?? '' };
      if (earlier !== undefined) return INTERRUPTED;
      failpoint('step.before');
      jobs.beginStep(key, name, store.newestRowid());
      failpoint('step.begun');
      const result = await withTimeout(send, deps);
      failpoint('step.sent');
      if (result.result === 'sent') jobs.finishStep(key, name, result.guid);
      if (result.result === 'failed') jobs.discardStep(key, name);
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
