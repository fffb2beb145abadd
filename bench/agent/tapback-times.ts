import { parseArgs } from 'node:util';

import { MIN_MACOS } from '@footbridge/agent/ports/messages/feature-versions';
import { MacMessages } from '@footbridge/agent/ports/messages/macos/mac-messages';
import type { TapbackPress } from '@footbridge/agent/ports/messages/messages';
import { systemClock } from '@footbridge/runtime/clock';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import { MACOS_VERSIONS } from '@footbridge/simulator/chat-db';
import type { MacosVersion } from '@footbridge/simulator/chat-db';

/** Measures Tapbacks from the call of the engine to the row, with `osascript` as a process, on each version: --count 30. */
const { values } = parseArgs({ options: { count: { type: 'string', default: '30' } } });
const count = Number(values.count);
const ANNA = '+15550100001';
const MAX_P95_MS = 2_000;
const LOVE: Tapback = { kind: 'classic', type: 'love' };
/** Not among the recent ones, and far down in the list of all emoji. */
const FAR_EMOJI: Tapback = { kind: 'emoji', emoji: '🌈' };

type Tapback = TapbackPress['tapback'];

for (const version of MACOS_VERSIONS)
  for (const tapback of version >= MIN_MACOS.emojiReactions ? [LOVE, FAR_EMOJI] : [LOVE]) {
    const times = await measure(version, tapback);
    const at = (share: number): string => (times[Math.floor(times.length * share)] ?? 0).toFixed(0);
    process.stdout.write(`macOS ${version}, ${tapback.kind}: median ${at(0.5)} ms, p95 ${at(0.95)} ms\n`);
    if (Number(at(0.95)) > MAX_P95_MS) process.exitCode = 1;
  }

async function measure(version: MacosVersion, tapback: Tapback): Promise<number[]> {
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
      const result = await messages.react({ chatId, targetGuid: guid, tapback });
      times.push(performance.now() - started);
      if (messages.store.ownReaction(guid)?.kind !== tapback.kind)
        throw new Error(`no reaction: ${JSON.stringify(result)}`);
    }
    return times.sort((one, other) => one - other);
  } finally {
    messages.close();
    await macos.stop();
  }
}
