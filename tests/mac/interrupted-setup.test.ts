import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startInstalledMac } from './installed-mac.ts';
import type { InstalledMac } from './installed-mac.ts';

const INTERRUPTED = 130;

let mac: InstalledMac;
const cleanup = createCleanup();

beforeAll(async () => {
  mac = await startInstalledMac(cleanup, { fullDisk: false });
});

afterAll(() => cleanup.run());

const setup = () => mac.inTerminal({}, 'setup');
const isRunning = async () =>
  JSON.parse((await mac.command(mac.program, {}, 'status')).out).running as boolean;

describe('Control-C during the setup', () => {
  it('at the pairing code leaves nothing behind', async () => {
    const terminal = setup();
    await terminal.reads('Pairing code');
    terminal.interrupts();
    await terminal.reads('The setup was stopped. Nothing was changed.');
    expect(await terminal.exited).toBe(INTERRUPTED);
    expect(existsSync(mac.support)).toBe(false);
  });

  it('while the setup waits for a permission leaves a running agent', async () => {
    const terminal = setup();
    await terminal.reads('Pairing code');
    terminal.types(await mac.newCode());
    await terminal.reads('1 of 3  Full Disk Access');
    await terminal.reads('Waiting for it');
    terminal.interrupts();
    await terminal.reads('Footbridge Agent is installed and waiting. To continue: footbridge-agent setup');
    expect(await terminal.exited).toBe(INTERRUPTED);
    expect(await isRunning()).toBe(true);
    expect((await readdir(join(mac.support, 'versions'))).filter((name) => name.includes('partial'))).toEqual(
      [],
    );
  });

  it('during a macOS prompt ends the setup at once, and the next setup continues with that permission', async () => {
    await mac.macos.messages.configurePrivacy({ fullDisk: true });
    const first = setup();
    await first.reads('✔ Full Disk Access is on');
    await first.reads('Press Allow');
    await first.reads('Waiting for your answer in the window of macOS');
    first.interrupts();
    expect(await first.exited).toBe(INTERRUPTED);
    expect(await isRunning()).toBe(true);

    const second = setup();
    await second.reads('Waiting for your answer in the window of macOS');
    await mac.macos.messages.configurePrivacy({ automation: 'granted', accessibility: true });
    await second.reads('✔ Automation is on');
    await second.reads('✔ Accessibility is on');
    await second.reads('Your own mobile number');
    second.interrupts();
    expect(await second.exited).toBe(INTERRUPTED);
    expect(second.output).not.toContain('Your Mac is ready');
  });

  it('before the confirmation of uninstall changes nothing', async () => {
    const terminal = mac.inTerminal({}, 'uninstall');
    await terminal.reads('Remove Footbridge from this Mac');
    terminal.interrupts();
    expect(await terminal.exited).toBe(INTERRUPTED);
    await until(isRunning);
  });
});
