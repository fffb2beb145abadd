import { createCleanup } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { checkScreen } from './check-screen.ts';

const cleanup = createCleanup();
let macos: SimulatedMacos;

beforeAll(async () => {
  macos = await startSimulatedMacos();
  cleanup.add(() => macos.stop());
});

afterAll(() => cleanup.run());

const check = (displaySleepMin: number) =>
  checkScreen(macos.commands, ` sleep 0\n displaysleep         ${displaySleepMin}\n`);
const saverAfter = (seconds: number) =>
  macos.messages.configureDefaults({ '-currentHost com.apple.screensaver': { idleTime: seconds } });

describe('doctor and the screen', () => {
  it('warns of a lock after the display turns off, and of the default screen saver', async () => {
    expect(await check(10)).toMatchObject({
      state: 'warn',
      sentence: expect.stringContaining('locks after 10 minutes'),
    });
    expect(await check(0)).toMatchObject({ sentence: expect.stringContaining('locks after 20 minutes') });
  });

  it('adds the time after which a password is required', async () => {
    await saverAfter(300);
    await macos.messages.configureScreenLock({ screenLock: { seconds: 900 } });
    expect(await check(10)).toMatchObject({ sentence: expect.stringContaining('locks after 20 minutes') });
  });

  it('passes when neither the display nor the screen saver starts a lock, or no password is required', async () => {
    await saverAfter(0);
    expect(await check(0)).toMatchObject({ state: 'pass' });
    await macos.messages.configureScreenLock({ screenLock: 'off' });
    expect(await check(10)).toMatchObject({ state: 'pass' });
  });

  it('warns of a locked screen, whatever the settings', async () => {
    await macos.messages.configureScreen({ isLocked: true });
    expect(await check(0)).toMatchObject({
      state: 'warn',
      sentence: expect.stringContaining('locked now'),
      next: expect.stringContaining('Unlock'),
    });
    await macos.messages.configureScreen({ isLocked: false });
  });

  it('warns when macOS does not say whether the screen locks', async () => {
    await macos.messages.breakCommands({ faults: [{ program: 'sysadminctl', exitCode: 1 }] });
    expect(await check(0)).toMatchObject({
      state: 'warn',
      sentence: expect.stringContaining('could not be read'),
    });
  });
});
