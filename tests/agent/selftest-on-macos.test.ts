import { systemClock } from '@footbridge/runtime/clock';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import { afterEach, expect, it } from 'vitest';

import { ScratchFolder } from '@footbridge/agent/edges/scratch';
import { runSelftest } from '@footbridge/agent/flows/selftest/selftest';
import { writeTestFiles } from '@footbridge/agent/flows/selftest/test-files';
import { MacMessages } from '@footbridge/agent/ports/messages/macos/mac-messages';

const OWNER = '+15550100009';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

it('the selftest names the program that macOS checks instead of the app, and the folders that Messages does not read', async () => {
  const macos = await startSimulatedMacos();
  cleanup.add(() => macos.stop());
  const messages = await MacMessages.open({
    home: macos.home,
    programs: macos.commands,
    memory: { load: () => undefined, save: () => undefined },
    clock: systemClock,
    uiAutomation: false,
  });
  cleanup.add(() => messages.close());
  await macos.messages.configure({ sends: { error: 25 } });
  const scratch = new ScratchFolder(await tempDir(cleanup));
  const { steps, attribution, folders } = await runSelftest(
    { to: OWNER },
    {
      messages,
      files: await writeTestFiles((name, bytes) => scratch.write(name, bytes)),
      clock: systemClock,
      agent: '0.1.0',
      onMac: false,
      isScreenLocked: undefined,
      onStep: () => undefined,
      onNote: () => undefined,
    },
  );
  const step = (wanted: string) => steps.find(({ name }) => name === wanted);
  expect(step('attribution')).toMatchObject({
    verdict: 'failed',
    reason: 'macOS checks the permissions of com.apple.Terminal instead of Footbridge Agent',
  });
  expect(attribution).toEqual({ program: 'com.apple.Terminal', isApp: false });
  expect(step('file folders')).toMatchObject({
    verdict: 'failed',
    reason: 'messages: error 25, container: error 25, pictures: error 25',
  });
  expect(folders).toEqual({ messages: 'error 25', container: 'error 25', pictures: 'error 25' });
});
