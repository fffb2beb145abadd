import { homedir } from 'node:os';
import { join } from 'node:path';

import type { Clock } from '@footbridge/runtime/clock';
import type { ClockGuard } from '@footbridge/runtime/clock-guard';
import type { Log } from '@footbridge/runtime/log';

import type { AgentConfig } from '../config/config.ts';
import { systemPrograms } from '../config/system-programs.ts';
import { NoEngineError } from '../errors.ts';
import type { Journal } from '../journal/journal.ts';
import { noteMemory } from '../journal/note-memory.ts';
import type { Limits } from '../ports/messages/bluebubbles/await-outcome.ts';
import { readPasswordFile } from '../ports/messages/bluebubbles/password-file.ts';
import { MacMessages } from '../ports/messages/macos/mac-messages.ts';
import type { MacPrograms } from '../ports/messages/macos/mac-messages.ts';
import { BlueBubblesMessages } from '../ports/messages/messages-bluebubbles.ts';
import { SimulatedMessages } from '../ports/messages/messages-simulated.ts';
import type { Messages, RowGuard } from '../ports/messages/messages.ts';
import type { StoreMemory } from '../ports/messages/store-generation.ts';
import { inboundName } from '../suspects/suspects.ts';
import type { Suspects } from '../suspects/suspects.ts';
import { passwordFileOf } from './bluebubbles.ts';

export type BlueBubblesLimits = Limits;

/** The Mac that the agent runs on. */
export interface Mac {
  readonly home: string;
  readonly programs: MacPrograms;
}

export interface MessagesDeps {
  readonly log: Log;
  /** Default: the Mac that this process runs on. */
  readonly mac?: Mac | undefined;
  readonly bluebubbles?: Partial<BlueBubblesLimits> | undefined;
  readonly journal: Journal;
  readonly memory: StoreMemory;
  readonly clock: Clock;
  readonly clockGuard: ClockGuard;
  readonly suspects: Suspects;
}

function thisMac({ programs }: AgentConfig): Mac {
  if (process.platform !== 'darwin' && programs === undefined) throw new NoEngineError();
  return { home: homedir(), programs: systemPrograms(programs) };
}

export function simulateMessages(
  config: AgentConfig,
  { memory, clock, suspects }: Pick<MessagesDeps, 'memory' | 'clock' | 'suspects'>,
): SimulatedMessages {
  const messages = new SimulatedMessages({
    dir: join(config.dataDir, 'simulated-messages'),
    macos: config.macos,
    memory,
    guard: guardOf(suspects),
    clock,
  });
  messages.change({ permissions: { automation: config.uiAutomation } });
  return messages;
}

/** Opens Messages on this Mac, with the built-in engine or with BlueBubbles. */
export function openMessages(config: AgentConfig, deps: MessagesDeps): Promise<Messages> {
  const { mac = thisMac(config), memory, clock, log, journal, bluebubbles = {}, clockGuard } = deps;
  const guard = guardOf(deps.suspects);
  const mayDelete = () => clockGuard.verdict?.agrees === true;
  if (config.engine === 'macos')
    return MacMessages.open({ ...mac, memory, clock, guard, uiAutomation: config.uiAutomation, mayDelete });
  return BlueBubblesMessages.open({
    ...mac,
    url: config.bluebubblesUrl,
    password: readPasswordFile(passwordFileOf(config)),
    memory,
    guard,
    features: noteMemory(journal, 'bluebubbles'),
    clock,
    log,
    limits: bluebubbles,
  });
}

/** A row that crashed the agent is read later, and never again after the second crash (I10). */
function guardOf(suspects: Suspects): RowGuard {
  return {
    read: (guid, read) => {
      const name = inboundName(guid);
      const verdict = suspects.verdict(name);
      return verdict === 'waits' || verdict === 'set aside' ? undefined : suspects.during(name, read);
    },
  };
}
