import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startInstalledMac } from './installed-mac.ts';
import type { InstalledMac } from './installed-mac.ts';

let mac: InstalledMac;
const cleanup = createCleanup();

beforeAll(async () => {
  mac = await startInstalledMac(cleanup, { fullDisk: true });
  await mac.macos.messages.configurePrivacy({ automation: 'granted', accessibility: true });
  await mac.macos.messages.configureApps({ refusesLauncher: true });
});

afterAll(() => cleanup.run());

const command = (...args: string[]) => mac.command(mac.program, {}, ...args);
const applications = () => join(mac.macos.home, 'Applications');
const app = () => join(applications(), 'Footbridge Agent.app');
const info = () => readFile(join(app(), 'Contents/Info.plist'), 'utf8');
const inode = async () => (await stat(app())).ino;
const isAble = async () => JSON.parse((await command('status')).out).ableToText as boolean;

describe('a Mac that does not start the launcher', () => {
  it('gets an applet with the same bundle id, which runs the agent', async () => {
    const installed = await command('setup', '--code', await mac.newCode());
    expect(installed).toMatchObject({
      code: 0,
      out: expect.stringContaining('an applet is made in its place'),
    });
    expect(await info()).toContain('<string>com.footbridge.agent</string>');
    expect(await info()).toContain('<string>applet</string>');
    expect(await readdir(applications())).toEqual(['Footbridge Agent.app']);
    await until(isAble);
  });

  it('keeps the applet when the setup runs again, and after a restart', async () => {
    const before = await inode();
    const again = await command('setup');
    expect(again.code).toBe(0);
    expect(again.out).not.toContain('applet');
    expect(await inode()).toBe(before);
    await mac.macos.messages.restartMac();
    await until(isAble);
  });

  it('has no app and says why when no applet can be made either', async () => {
    expect((await command('uninstall', '--yes')).code).toBe(0);
    expect(existsSync(applications())).toBe(false);
    await mac.breakProgram('osacompile');
    expect(await command('setup', '--code', await mac.newCode())).toMatchObject({
      code: 1,
      err: expect.stringMatching(/Code=-10810.*cannot make an applet/),
    });
  });
});
