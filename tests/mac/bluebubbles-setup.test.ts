import { readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Finding } from '@footbridge/runtime/finding';
import { DEFAULT_SETTINGS, startBlueBubbles } from '@footbridge/testkit/bluebubbles';
import type { SimulatedBlueBubbles } from '@footbridge/testkit/bluebubbles';
import { createCleanup } from '@footbridge/testkit/cleanup';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { until } from '@footbridge/testkit/until';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startInstalledMac } from './installed-mac.ts';
import type { InstalledMac } from './installed-mac.ts';

const { password: PASSWORD } = DEFAULT_SETTINGS;

let macos: SimulatedMacos;
let mac: InstalledMac;
let server: SimulatedBlueBubbles;
const cleanup = createCleanup();

beforeAll(async () => {
  mac = await startInstalledMac(cleanup, { fullDisk: true });
  ({ macos } = mac);
  server = await startBlueBubbles(macos);
  cleanup.add(() => server.stop());
});

afterAll(() => cleanup.run());

const support = () => mac.support;
const passwordFile = () => join(support(), 'bluebubbles-password');
const env = () => ({ FOOTBRIDGE_BLUEBUBBLES_URL: server.url });
const inTerminal = (...args: string[]) => mac.inTerminal(env(), ...args);
const command = (...args: string[]) => mac.command(mac.program, env(), ...args);

const savedSettings = async (): Promise<unknown> =>
  JSON.parse(await readFile(join(support(), 'settings.json'), 'utf8'));

async function doctor(): Promise<Record<string, string>> {
  const { findings } = JSON.parse((await command('doctor', '--json')).out) as { findings: Finding[] };
  for (const { check, state, next } of findings)
    expect([check, next !== undefined]).toEqual([check, state !== 'pass']);
  return Object.fromEntries(findings.map(({ check, state }) => [check, state]));
}

/** Apple events and the screen are both used through osascript. */
const controlsMessages = async () =>
  (await macos.messages.calls()).some(({ program: name }) => name === 'osascript');

describe('a Mac on which BlueBubbles runs', () => {
  it('setup offers BlueBubbles, explains the risks and asks for the password without echo', async () => {
    const terminal = inTerminal('setup');
    await terminal.reads('Pairing code');
    terminal.types(await mac.newCode());
    await terminal.reads('BlueBubbles is running on this Mac');
    await terminal.reads('System Integrity Protection (SIP) is off');
    await terminal.reads('On macOS 26');
    await terminal.reads('Use BlueBubbles?');
    terminal.types('y');
    await terminal.reads('Password of BlueBubbles');
    terminal.types('wrong secret');
    await terminal.reads('✖ BlueBubbles: the password is wrong');
    await terminal.reads('Password of BlueBubbles');
    terminal.types(PASSWORD);
    await terminal.reads('✔ Messages are sent through BlueBubbles');
    await terminal.reads('is installed and running');
    await terminal.reads('1 of 1  Full Disk Access');
    await terminal.reads('✔ Full Disk Access is on');
    await terminal.reads('Your own mobile number');
    terminal.types('+15550100009');
    await terminal.reads('Your Mac is ready.');
    expect(await terminal.exited).toBe(0);
    for (const secret of [PASSWORD, 'wrong secret']) expect(terminal.output).not.toContain(secret);
    expect(await server.control.performed()).toHaveLength(1);
  });

  it('setup saves the engine, and the password only in a file with mode 0600', async () => {
    expect(await savedSettings()).toMatchObject({
      FOOTBRIDGE_ENGINE: 'bluebubbles',
      FOOTBRIDGE_BLUEBUBBLES_URL: server.url,
      FOOTBRIDGE_BLUEBUBBLES_PASSWORD_FILE: passwordFile(),
    });
    const { mode } = await stat(passwordFile());
    expect(mode & 0o777).toBe(0o600);
    expect(await readFile(passwordFile(), 'utf8')).toBe(`${PASSWORD}\n`);
    const logs = join(macos.home, 'Library/Logs/Footbridge');
    const others = [
      join(support(), 'settings.json'),
      ...(await readdir(logs)).map((name) => join(logs, name)),
    ];
    expect(others.length).toBeGreaterThan(1);
    for (const path of others)
      for (const form of [PASSWORD, encodeURIComponent(PASSWORD), 'wrong secret'])
        expect(await readFile(path, 'utf8')).not.toContain(form);
  });

  it('the agent does not control Messages itself', async () => {
    expect(await controlsMessages()).toBe(false);
  });

  it('doctor checks BlueBubbles, and has a remedy for every finding', async () => {
    expect(await doctor()).toMatchObject({
      Agent: 'pass',
      'Full Disk': 'pass',
      Automation: 'pass',
      Access: 'pass',
      BlueBubbles: 'pass',
      Version: 'pass',
      'Private API': 'pass',
      Helper: 'pass',
      Account: 'pass',
      Activity: 'pass',
    });
    await server.control.configure({ appleId: null });
    expect(await doctor()).toMatchObject({ Account: 'fail' });
    await server.control.configure({ helpers: 0 });
    expect(await doctor()).toMatchObject({ Helper: 'fail' });
    await server.control.configure({ privateApi: false });
    expect(await doctor()).toMatchObject({ 'Private API': 'fail' });
    await server.control.configure({ version: '1.8.0' });
    expect(await doctor()).toMatchObject({ Version: 'fail' });
    await server.control.configure(DEFAULT_SETTINGS);
  });

  it('doctor does not blame the agent for a Terminal without Full Disk Access', async () => {
    await macos.messages.configurePrivacy({ fullDisk: false });
    expect(await doctor()).toMatchObject({ Activity: 'pass' });
    await macos.messages.configurePrivacy({ fullDisk: true });
    await until(async () => (await doctor())['Full Disk'] === 'pass');
  });

  it('setup asks for nothing when it is repeated', async () => {
    const again = await command('setup');
    expect(again).toMatchObject({ code: 0, err: '', out: expect.stringContaining('Your Mac is ready.') });
  });

  it('setup fails while BlueBubbles has no Private API, and names the built-in engine', async () => {
    await server.control.configure({ privateApi: false });
    const refused = await command('setup');
    expect(refused).toMatchObject({ code: 3, err: expect.stringContaining('setup --engine macos') });
    await server.control.configure(DEFAULT_SETTINGS);
  });

  it('setup fails without a terminal when the password is missing', async () => {
    await rm(passwordFile());
    expect(await doctor()).toMatchObject({ Password: 'fail' });
    const refused = await command('setup');
    expect(refused).toMatchObject({ code: 3, err: expect.stringContaining('in a terminal') });
  });

  it('setup --engine macos returns to the built-in engine', async () => {
    const terminal = inTerminal('setup', '--engine', 'macos');
    await terminal.reads('2 of 3  Automation');
    await until(controlsMessages);
    await macos.messages.configurePrivacy({ automation: 'granted', accessibility: true });
    await terminal.reads('✔ Accessibility is on');
    terminal.end();
    expect(terminal.output).not.toContain('Use BlueBubbles?');
    expect(await savedSettings()).toMatchObject({ FOOTBRIDGE_ENGINE: 'macos' });
    expect(await doctor()).not.toHaveProperty('Private API');
  });

  it('setup offers BlueBubbles once, and Return keeps the built-in engine', async () => {
    const { FOOTBRIDGE_ENGINE: _engine, ...others } = (await savedSettings()) as Record<string, string>;
    await writeFile(join(support(), 'settings.json'), JSON.stringify(others));
    const first = inTerminal('setup');
    await first.reads('Use BlueBubbles?');
    first.types('');
    await first.reads('The built-in engine is used');
    await first.reads('Your own mobile number');
    first.types('');
    expect(await first.exited).toBe(0);
    expect(await savedSettings()).toMatchObject({ FOOTBRIDGE_ENGINE: 'macos' });
    const second = inTerminal('setup');
    await second.reads('Your own mobile number');
    second.types('');
    expect(await second.exited).toBe(0);
    expect(second.output).not.toContain('Use BlueBubbles?');
  });
});
