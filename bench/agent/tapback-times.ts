import { parseArgs } from 'node:util';

import { MacMessages } from '@footbridge/agent/ports/messages/macos/mac-messages';
import { systemClock } from '@footbridge/runtime/clock';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import { MACOS_VERSIONS } from '@footbridge/testkit/macos/chat-db';

/** Measures Tapbacks from the call of the engine to the row, with `osascript` as a process, on each version: --count 30. */
const { values } = parseArgs({ options: { count: { type: 'string', default: '30' } } });
const count = Number(values.count);
const ANNA = '+15550100001';
const MAX_P95_MS = 2_000;

for (const version of MACOS_VERSIONS) {
  const times = await measure(version);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? 0;
  process.stdout.write(`macOS ${version}: median ${at(0.5).toFixed(0)} ms, p95 ${at(0.95).toFixed(0)} ms\n`);
  if (at(0.95) > MAX_P95_MS) process.exitCode = 1;
}

async function measure(version: (typeof MACOS_VERSIONS)[number]): Promise<number[]> {
  const macos = await startSimulatedMacos({ macos: version });
  const memory = { load: () => undefined, save: () => undefined };
  const options = {
    home: macos.home,
    programs: macos.commands,
    memory,
    clock: systemClock,
    uiAutomation: true,
  };
  const messages = await MacMessages.open(options);
  try {
    const times: number[] = [];
    for (let round = 0; round < count; round += 1) {
      const { guid } = await macos.messages.write({ from: ANNA, text: `Message ${round}` });
      await macos.messages.settled();
      const chatId = messages.store.directChat(ANNA, 'iMessage')?.id ?? 0;
      const started = performance.now();
      const tapback = { kind: 'classic', type: 'love' } as const;
      const result = await messages.react({ chatId, targetGuid: guid, tapback });
      times.push(performance.now() - started);
      if (messages.store.ownReaction(guid)?.kind !== 'classic')
        throw new Error(`no reaction: ${JSON.stringify(result)}`);
    }
    return times.sort((one, other) => one - other);
  } finally {
    messages.close();
    await macos.stop();
  }
}
