import { cp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Finding } from '@footbridge/runtime/finding';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { until } from '@footbridge/testkit/until';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { readRecord } from '../../scripts/selftest-records.ts';
import type { TestBridge } from '../contract/test-bridge.ts';
import { startInstalledMac } from './installed-mac.ts';
import type { InstalledMac } from './installed-mac.ts';

const OWNER = '+15550100009';
/** The record of this Mac, as a fixture: `vitest --update` writes it. */
const RECORD = '../../packages/agent/fixtures/selftest/simulated-macos-26.json';

let bridge: TestBridge;
let macos: SimulatedMacos;
let mac: InstalledMac;
/** The installed npm package, and a newer one. */
let program: string;
let newer: string;
const cleanup = createCleanup();

beforeAll(async () => {
  mac = await startInstalledMac(cleanup, { fullDisk: false });
  ({ bridge, macos, program } = mac);
  newer = join(await tempDir(cleanup), 'newer');
  await cp(program, newer, { recursive: true });
  const manifest = join(newer, 'agent/package.json');
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('"0.1.0"', '"0.2.0"'));
});

afterAll(() => cleanup.run());

const support = () => mac.support;
const inTerminal = (...args: string[]) => mac.inTerminal({}, ...args);
const command = (root: string, ...args: string[]) => mac.command(root, {}, ...args);

const devices = async () => (await bridge.operator('GET', '/operator/devices')).body['devices'];

async function connectedSince(): Promise<string | undefined> {
  const { body } = await bridge.operator('GET', '/operator/locations');
  const [location] = body['locations'] as { connected: { since: string } | null }[];
  return location?.connected?.since;
}

/** Without the files of the simulated macOS and those of Messages itself. */
const homeFiles = async () =>
  (await readdir(macos.home, { recursive: true })).filter(
    (path) => !/^(bin|Library\/Messages( \(hidden\))?(\/(chat\.db|Attachments)|$))/.test(path),
  );

/** What macOS would see change: the permissions are tied to these bytes. */
async function appState() {
  const path = join(macos.home, 'Applications/Footbridge Agent.app/Contents/MacOS/footbridge-agent');
  const { ino, mtimeMs } = await stat(path);
  return { ino, mtimeMs, bytes: (await readFile(path)).toString('base64') };
}

/** The panes of the privacy settings that were opened, oldest first. */
async function openedPanes() {
  const opened = (await macos.messages.calls()).filter((call) => call.program === 'open');
  return opened.flatMap(({ arguments: args }) => /\?Privacy_(\w+)/.exec(args.join(' '))?.[1] ?? []);
}

describe('a Mac, from nothing to ready and back', () => {
  let before: string[];
  let app: Awaited<ReturnType<typeof appState>>;

  it('M12 setup pairs the Mac, waits for each permission and ends with a text to the owner', async () => {
    before = await homeFiles();
    const terminal = inTerminal('setup');
    await terminal.reads('Pairing code');
    terminal.types(`0000-0000@${bridge.url}`);
    await terminal.reads('✖ The pairing code is wrong');
    await terminal.reads('Pairing code');
    terminal.types(await mac.newCode());
    await terminal.reads('✔ This Mac is paired');
    await terminal.reads('is installed and running');

    await terminal.reads('1 of 3  Full Disk Access');
    await terminal.reads('Waiting for it');
    await macos.messages.configurePrivacy({ fullDisk: true });
    await terminal.reads('✔ Full Disk Access is on');

    await terminal.reads('2 of 3  Automation');
    await terminal.reads('Press Allow');
    await macos.messages.configurePrivacy({ automation: 'denied' });
    await terminal.reads('It was denied');
    await terminal.reads('Waiting for it');
    await macos.messages.configurePrivacy({ automation: 'granted' });
    await terminal.reads('✔ Automation is on');

    await terminal.reads('3 of 3  Accessibility');
    await terminal.reads('Waiting for it');
    await macos.messages.configurePrivacy({ accessibility: true });
    await terminal.reads('✔ Accessibility is on');

    await terminal.reads('Your own mobile number');
    terminal.types('+1 (555) 010-0009');
    await terminal.reads('Your Mac is ready.');
    expect(await terminal.exited).toBe(0);
    expect(await macos.messages.sent()).toMatchObject([
      { to: { service: 'iMessage', handle: OWNER }, text: expect.stringContaining('ready') },
    ]);
    expect(await openedPanes()).toEqual(['AllFiles', 'Automation', 'Accessibility']);
    expect(await connectedSince()).toBeDefined();
    app = await appState();
  });

  it('status says in words that the Mac can text', async () => {
    const terminal = inTerminal('status');
    await terminal.reads('agent     running, version 0.1.0');
    await terminal.reads('texts     can be sent and received');
    await terminal.reads('link      registered');
    await terminal.reads('received not in 30 days');
    expect(await terminal.exited).toBe(0);
    await macos.messages.configurePrivacy({ fullDisk: false });
    const isAble = async () => JSON.parse((await command(program, 'status')).out).ableToText as boolean;
    await until(async () => !(await isAble()));
    expect((await command(program, 'status')).out).toContain('Full Disk Access is off');
    await macos.messages.configurePrivacy({ fullDisk: true });
    await until(isAble);
    expect(await command(program, 'logs', '--lines', 'ten')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--lines must be a whole number'),
    });
    const logs = inTerminal('logs', '--lines', '1000');
    await logs.reads('registered');
    expect(await logs.exited).toBe(0);
  });

  it('doctor asks the running agent and the Mac, and has a remedy for every finding', async () => {
    const doctor = async () => {
      const { out } = await command(program, 'doctor', '--json');
      const { findings } = JSON.parse(out) as { findings: Finding[] };
      for (const { check, state, next } of findings)
        expect([check, next !== undefined]).toEqual([check, state !== 'pass']);
      return new Map(findings.map(({ check, state }) => [check, state]));
    };
    const atFirst = await doctor();
    expect(Object.fromEntries(atFirst)).toMatchObject({
      Agent: 'pass',
      Link: 'pass',
      'Full Disk': 'pass',
      Automation: 'pass',
      Messages: 'pass',
      SMS: 'pass',
      Newest: 'pass',
      Verified: 'warn',
      App: 'pass',
      'Login item': 'pass',
      Sleep: 'warn',
      FileVault: 'pass',
      Service: 'pass',
      License: 'pass',
    });
    expect(atFirst.get('Screen')).toBe('warn');
    await macos.messages.configurePmset({ sleep: 0, displaysleep: 0 });
    await macos.messages.configureDefaults({ '-currentHost com.apple.screensaver': { idleTime: 0 } });
    await macos.messages.configureFileVault({ isOn: true });
    await macos.messages.configureLaunchctl({ disabled: ['com.footbridge.agent'] });
    await macos.messages.configurePrivacy({ fullDisk: false });
    const after = await until(async () => {
      const found = await doctor();
      return found.get('Full Disk') === 'fail' ? found : undefined;
    });
    expect(Object.fromEntries(after)).toMatchObject({
      'Login item': 'fail',
      Sleep: 'pass',
      Screen: 'pass',
      FileVault: 'warn',
    });
    await macos.messages.configureLaunchctl({ disabled: [] });
    await macos.messages.configurePrivacy({ fullDisk: true });
    await until(async () => (await doctor()).get('Full Disk') === 'pass');
  });

  it('doctor --selftest tries each capability within a minute and writes an anonymous record', async () => {
    const started = performance.now();
    expect(await command(program, 'doctor', '--selftest', '--group', OWNER)).toMatchObject({
      code: 2,
      err: expect.stringContaining('--group needs at least two'),
    });
    // Shows how slow the machine is: on an idle one, the program starts in half a second.
    const startMs = performance.now() - started;
    const starts = await macos.messages.appStarts();
    const group = `${OWNER},owner@example.com`;
    const options = ['--to', OWNER, '--group', group, '--lock', '--kill'];
    const terminal = inTerminal('doctor', '--selftest', ...options);
    await terminal.reads('✔ message store');
    await terminal.reads('✔ attribution');
    await terminal.reads('✔ text');
    await terminal.reads('✔ groups');
    await terminal.reads('✔ attachments');
    await terminal.reads('✔ file folders');
    await terminal.reads('✔ animations');
    await terminal.reads('✔ emoji-reactions');
    await terminal.reads('Lock the screen now');
    await macos.messages.configureScreen({ isLocked: true });
    await terminal.reads('✔ locked screen');
    await macos.messages.configureScreen({ isLocked: false });
    await terminal.reads('✔ killed send');
    await terminal.reads(', 0 failed, 1 skipped. The record is in ');
    expect(await terminal.exited).toBe(0);
    expect(performance.now() - started).toBeLessThan(Math.max(60_000, 100 * startMs));
    const file = join(macos.home, 'selftest-26.1-25B78.json');
    const written = await readFile(file, 'utf8');
    await rm(file);
    expect(readRecord(file, written)).toMatchObject({ onMac: false });
    // Durations differ from run to run.
    const record = `${written.trim().replaceAll(/(Ms": )\d+/g, '$10')}\n`;
    await expect(record).toMatchFileSnapshot(RECORD);
    expect(await macos.messages.appStarts()).toBe(starts + 1);
    for (const secret of [OWNER, OWNER.slice(1), 'owner@example.com', 'Footbridge test message', macos.home])
      expect(written).not.toContain(secret);
  });

  it('setup changes nothing and asks for nothing when it is repeated', async () => {
    const panes = await openedPanes();
    const again = await command(program, 'setup');
    expect(again).toMatchObject({ code: 0, out: expect.stringContaining('Your Mac is ready.') });
    expect(again.out).not.toContain('Waiting');
    expect(again.out).not.toContain('In the window that opens');
    expect(await openedPanes()).toEqual(panes);
    expect(await appState()).toEqual(app);
  });

  it('the agent starts after a restart of the Mac', async () => {
    const since = await connectedSince();
    await macos.messages.restartMac();
    await until(async () => ![undefined, since].includes(await connectedSince()), {
      what: 'a new connection',
    });
  });

  it('update replaces the version and not the app', async () => {
    const updated = await command(newer, 'update');
    expect([updated.code, updated.err]).toEqual([0, '']);
    expect(JSON.parse(updated.out)).toEqual({ version: '0.2.0', before: '0.1.0' });
    expect(await readdir(join(support(), 'versions'))).toEqual(['0.1.0', '0.2.0']);
    expect(await appState()).toEqual(app);
    await until(async () => (await connectedSince()) !== undefined);
    expect(await devices()).toMatchObject([{ appVersion: '0.2.0', status: 'active' }]);
  });

  it('uninstall asks, frees the seat and leaves nothing behind', async () => {
    expect(await command(newer, 'uninstall')).toMatchObject({
      code: 1,
      err: expect.stringContaining('pass --yes'),
    });
    const terminal = inTerminal('uninstall');
    await terminal.reads('Remove Footbridge from this Mac');
    terminal.types('y');
    await terminal.reads('Footbridge is removed from this Mac.');
    expect(await terminal.exited).toBe(0);
    expect(await homeFiles()).toEqual(before);
    expect(await connectedSince()).toBeUndefined();
    expect(await devices()).toMatchObject([{ status: 'deactivated' }]);
    expect(await macos.messages.calls()).toContainEqual({
      program: 'tccutil',
      arguments: ['reset', 'All', 'com.footbridge.agent'],
    });
    const starts = await macos.messages.appStarts();
    await macos.messages.restartMac();
    expect(await macos.messages.appStarts()).toBe(starts);
  });
});
