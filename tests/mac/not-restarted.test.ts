import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Finding } from '@footbridge/runtime/finding';
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
  expect(await command('setup', '--code', await mac.newCode())).toMatchObject({ code: 0, err: '' });
});

afterAll(() => cleanup.run());

const command = (...args: string[]) => mac.command(mac.program, {}, ...args);
const settingsFile = () => join(mac.support, 'settings.json');

/** The state of the launch agent as launchd shows it. */
async function jobState(): Promise<string | undefined> {
  const call = { program: 'launchctl', arguments: ['print', 'gui/0/com.footbridge.agent'] } as const;
  const { stdout = '' } = await mac.macos.messages.runCommand(call);
  return /\tstate = (.*)/.exec(stdout)?.[1];
}

/** Resolves with the number of starts when launchd neither runs the agent nor is about to start it. */
async function startsUntilIdle(): Promise<number> {
  await until(async () => (await jobState()) === 'not running', { what: 'a job that is not started again' });
  return await mac.macos.messages.appStarts();
}

async function agentFinding(): Promise<Finding | undefined> {
  const { findings } = JSON.parse((await command('doctor', '--json')).out) as { findings: Finding[] };
  return findings.find(({ check }) => check === 'Agent');
}

describe('launchd', () => {
  it('restarts an agent that crashed', async () => {
    const starts = await mac.macos.messages.appStarts();
    await mac.macos.messages.killApp();
    await until(async () => (await mac.macos.messages.appStarts()) === starts + 1);
    await until(async () => JSON.parse((await command('status')).out).ableToText as boolean);
  });

  it('starts an agent with unusable settings once, and not again', async () => {
    const settings = await readFile(settingsFile(), 'utf8');
    await writeFile(settingsFile(), '{');
    const starts = await mac.macos.messages.appStarts();
    await mac.macos.messages.killApp();
    expect(await startsUntilIdle()).toBe(starts + 1);
    await mac.macos.messages.restartMac();
    expect(await startsUntilIdle()).toBe(starts + 2);
    await writeFile(settingsFile(), settings);
    expect(await agentFinding()).toMatchObject({
      state: 'fail',
      sentence: expect.stringContaining('settings.json must be a JSON object'),
      next: expect.stringContaining('footbridge-agent setup'),
    });
    expect((await command('setup')).code).toBe(0);
    expect(await agentFinding()).toMatchObject({ state: 'pass' });
  });

  it('does not restart an agent whose data folder serves another location', async () => {
    const settings = await readFile(settingsFile(), 'utf8');
    await writeFile(settingsFile(), settings.replace('"loc1"', '"loc2"'));
    const starts = await mac.macos.messages.appStarts();
    await mac.macos.messages.killApp();
    expect(await startsUntilIdle()).toBe(starts + 1);
    const failed = await command('setup');
    expect(failed).toMatchObject({ code: 1, err: expect.stringContaining('serves loc1, not loc2') });
    await writeFile(settingsFile(), settings);
    expect((await command('setup')).code).toBe(0);
  });

  it('still restarts an agent after a second agent with unusable settings failed', async () => {
    const starts = await mac.macos.messages.appStarts();
    expect(await command('run', '--url', 'nonsense')).toMatchObject({ code: 3 });
    expect(await command('run')).toMatchObject({ code: 3 });
    await mac.macos.messages.killApp();
    await until(async () => (await mac.macos.messages.appStarts()) === starts + 1);
    await until(async () => JSON.parse((await command('status')).out).ableToText as boolean);
  });

  it('does not restart a revoked agent, and starts it with a new code once the device is restored', async () => {
    const { body } = await mac.bridge.operator('GET', '/operator/devices');
    const [device] = body['devices'] as { id: string }[];
    const starts = await mac.macos.messages.appStarts();
    await mac.bridge.operator('POST', `/operator/devices/${device?.id}/revoke`);
    expect(await startsUntilIdle()).toBe(starts);
    expect(await agentFinding()).toMatchObject({
      state: 'fail',
      sentence: expect.stringContaining('revoked'),
    });
    expect(JSON.parse((await command('status')).out)).toMatchObject({
      running: false,
      missing: [expect.stringContaining('revoked')],
    });
    expect(await command('setup')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/not activated.*setup --code CODE/s),
    });
    await mac.bridge.operator('POST', `/operator/devices/${device?.id}/restore`);
    expect((await command('setup', '--code', await mac.newCode())).code).toBe(0);
    await until(async () => JSON.parse((await command('status')).out).ableToText as boolean);
  });
});
