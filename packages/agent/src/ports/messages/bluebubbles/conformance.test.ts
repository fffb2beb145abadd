import { systemClock } from '@footbridge/runtime/clock';
import { DEFAULT_SETTINGS, startBlueBubbles } from '@footbridge/testkit/bluebubbles';
import type { SimulatedBlueBubbles } from '@footbridge/testkit/bluebubbles';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { silentLog } from '@footbridge/testkit/silent-log';
import { afterAll, beforeAll, describe } from 'vitest';

import { BlueBubblesMessages } from '../messages-bluebubbles.ts';
import { messagesContract } from '../messages.contract.ts';
import type { Messages } from '../messages.ts';
import { readingContract } from '../reading.contract.ts';
import type { StoreMemory } from '../store-generation.ts';

const ANNA = '+15550100001';
const cleanup = createCleanup();
afterAll(() => cleanup.run());

describe.each([15, 26] as const)('the BlueBubbles engine on macOS %i', (version) => {
  let macos: SimulatedMacos;
  let server: SimulatedBlueBubbles;
  beforeAll(async () => {
    macos = await startSimulatedMacos({ macos: version });
    cleanup.add(() => macos.stop());
    server = await startBlueBubbles(macos);
    cleanup.add(() => server.stop());
  });

  const open = (store: StoreMemory): Promise<Messages> =>
    BlueBubblesMessages.open({
      home: macos.home,
      programs: macos.commands,
      url: server.url,
      password: DEFAULT_SETTINGS.password,
      memory: store,
      features: memory(),
      clock: systemClock,
      log: silentLog,
      limits: { rowAfterReplyMs: 60_000, recoveryMs: 0 },
    });

  describe('as every engine', () => {
    messagesContract(async () => {
      await macos.messages.rebuild();
      // A file cannot start a conversation.
      await macos.messages.write({ from: ANNA, text: 'Hi' });
      await macos.messages.settled();
      return open(memory());
    });
  });
  readingContract(() => macos, open);
});

function memory(): StoreMemory {
  let saved: string | undefined;
  return {
    load: () => saved,
    save: (value) => {
      saved = value;
    },
  };
}
