import type { Cleanup } from '@footbridge/testkit/cleanup';

import { seenFromOutside } from './engine-agent.ts';
import type { Engine, EngineFault, EngineFixture } from './engine-agent.ts';
import { useMac } from './mac.fixture.ts';
import { runAgent } from './running-agent.ts';

/** Prepares an engine for the tests of the enclosing `describe`. They share one simulated Mac, with an empty store for each. */
export function useEngine(engine: Engine, cleanup: Cleanup): EngineFixture {
  return engine === 'simulated' ? simulatedFixture(cleanup) : useMac(engine, cleanup);
}

/** Longer than any test. */
const HELD_MS = 3_600_000;
const ALWAYS = 1_000;

const SIMULATED_FAULTS: Readonly<Record<EngineFault, object>> = {
  send_refused: { faults: faultsOf('TIMEOUT', ['text', 'attachment', 'animation', 'voice', 'sticker']) },
  file_refused: { faults: faultsOf('TIMEOUT', ['attachment']) },
  send_lost: { faults: faultsOf('OUTCOME_UNKNOWN', ['text', 'attachment', 'animation', 'voice']) },
  press_refused: { faults: faultsOf('PICKER_FAILED', ['reaction']) },
  press_lost: { faults: faultsOf('EMOJI_NOT_IN_RECENTS', ['reaction']) },
  screen_denied: { permissions: { accessibility: false } },
};

function faultsOf(code: string, jobs: readonly string[]): object[] {
  return jobs.map((job) => ({ job, code, times: ALWAYS }));
}

function simulatedFixture(cleanup: Cleanup): EngineFixture {
  return {
    engine: 'simulated',
    codes: {
      send_refused: 'TIMEOUT',
      file_refused: 'TIMEOUT',
      send_lost: 'TIMEOUT',
      press_refused: 'PICKER_FAILED',
      press_lost: 'TIMEOUT',
      screen_denied: 'AX_DENIED',
    },
    run: async ({ macos, ...options } = {}) => {
      const env = { ...(macos !== undefined && { FOOTBRIDGE_MACOS: macos }), ...options.env };
      const running = await runAgent(cleanup, { ...options, env });
      const change = async (settings: object): Promise<void> => {
        await running.play('/world', settings);
      };
      return {
        ...running,
        ...seenFromOutside(running),
        storePath: `${running.config.dataDir}/simulated-messages/chat.db`,
        hold: () => change({ delayMs: HELD_MS }),
        release: () => change({ delayMs: 0 }),
        fail: (fault) => change(SIMULATED_FAULTS[fault]),
        heal: () => change({ faults: [], permissions: { accessibility: true } }),
        filesArrive: () => Promise.resolve(),
        requested: async () => {
          const messages = await running.messages();
          const reactions = messages.flatMap((message) => message.reactions);
          return [...messages, ...reactions].filter(({ from }) => from === 'me').length;
        },
        statusOfLost: (requestId) => running.service.statusOf(requestId),
        skip: () => Promise.resolve(),
      };
    },
  };
}
