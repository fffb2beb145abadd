import type { Clock } from '@footbridge/runtime/clock';

import type { AgentConfig } from '../../config/config.ts';
import { AGENT_VERSION } from '../../config/version.ts';
import type { Scratch } from '../../flows/outbound/job-deps.ts';
import type { OneAtATime } from '../../flows/outbound/one-at-a-time.ts';
import { interruptSend, resolveInterruptedSend } from '../../flows/selftest/interrupted-send.ts';
import { runSelftest } from '../../flows/selftest/selftest.ts';
import { writeTestFiles } from '../../flows/selftest/test-files.ts';
import type { Journal } from '../../journal/journal.ts';
import { noteMemory } from '../../journal/note-memory.ts';
import type { Messages } from '../../ports/messages/messages.ts';
import { agentReport } from './agent-report.ts';
import type { LocalCalls } from './local-calls.ts';

export interface HandlerDeps {
  readonly config: Pick<AgentConfig, 'location' | 'engine' | 'uiAutomation' | 'simulate'>;
  readonly messages: Messages;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly oneAtATime: OneAtATime;
  /** Creates a temporary folder. */
  readonly createScratch: () => Pick<Scratch, 'write'> & { clear(): Promise<void> };
  readonly isScreenLocked: () => Promise<boolean>;
  readonly stop: () => void;
}

/** Returns the handlers of the calls that other commands of the owner make to this process. */
export function localHandlers(deps: HandlerDeps): LocalCalls {
  const { config, messages, journal, clock, oneAtATime, createScratch, isScreenLocked, stop } = deps;
  const interrupted = noteMemory(journal, 'interrupted-send');
  return {
    report: () => agentReport(config, messages, journal, clock.now()),
    requestPermission: (permission) =>
      oneAtATime.run(async () => {
        const state = (await messages.requestPermission?.(permission)) ?? 'granted';
        journal.setNote(permission, state);
        return state;
      }),
    sendText: (handle, text) =>
      oneAtATime.run(() =>
        messages.send({ kind: 'text', text }, { to: 'person', handle, service: 'iMessage' }),
      ),
    selftest: (options, listener) =>
      oneAtATime.run(async () => {
        const scratch = createScratch();
        try {
          const files = await writeTestFiles((name, bytes) => scratch.write(name, bytes));
          const onMac = process.platform === 'darwin' && !config.simulate;
          return await runSelftest(options, {
            messages,
            files,
            clock,
            agent: AGENT_VERSION,
            onMac,
            isScreenLocked: config.simulate ? undefined : isScreenLocked,
            ...listener,
          });
        } finally {
          await scratch.clear();
        }
      }),
    interruptSend: (to) =>
      oneAtATime.run(() =>
        interruptSend(to, () => process.kill(process.pid, 'SIGKILL'), { messages, memory: interrupted }),
      ),
    resolveInterruptedSend: () =>
      oneAtATime.run(() => resolveInterruptedSend({ messages, memory: interrupted })),
    stop,
  };
}
