import { join } from 'node:path';
import { readFile } from 'node:fs/promises';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { startInstalledMac } from './installed-mac.ts';
import type { InstalledMac } from './installed-mac.ts';

let mac: InstalledMac;
const cleanup = createCleanup();

beforeAll(async () => {
  mac = await startInstalledMac(cleanup, { fullDisk: true });
  await mac.macos.messages.configurePrivacy({ automation: 'granted', accessibility: true });
});

afterAll(() => cleanup.run());

it('M12 setup says in one line why a pairing code is wrong, used or expired, and asks again', async () => {
  const used = await mac.newCode();
  const otherMac = { FOOTBRIDGE_AGENT_DIR: await tempDir(cleanup) };
  expect(await mac.command(mac.program, otherMac, 'pair', used)).toMatchObject({ code: 0 });
  const expired = await mac.newCode();
  mac.bridge.clock.freeze(15 * 60_000);
  const terminal = mac.inTerminal({}, 'setup');
  await terminal.reads('Pairing code');
  for (const [code, line] of [
    [
      `0000-0000@${mac.bridge.url}`,
      'is wrong or no longer valid. Check it, or ask the operator of the service for a new one.',
    ],
    [used, 'was already used. Ask the operator of the service for a new one.'],
    [expired, 'is older than 15 minutes. Ask the operator of the service for a new one.'],
  ] as const) {
    terminal.types(code);
    await terminal.reads(`\n✖ The pairing code ${line}\nPairing code`);
  }
  terminal.interrupts();
  await terminal.reads('Nothing was changed.');
  expect(await terminal.exited).toBe(130);
});

it('M12 setup asks for the address and the license key of a Mac without a code', async () => {
  const { id, key } = await mac.bridge.createLicense(1);
  await mac.bridge.operator('PUT', '/operator/locations/loc2', { licenseId: id });
  const terminal = mac.inTerminal({}, 'setup');
  await terminal.reads('Pairing code');
  terminal.types('');
  await terminal.reads('Service address');
  terminal.types('not an address');
  await terminal.reads('✖ This is not a valid address');
  await terminal.reads('Service address');
  terminal.types(mac.bridge.url);
  await terminal.reads('License key');
  terminal.types('WRONG');
  await terminal.reads('Location');
  terminal.types('loc2');
  await terminal.reads('✖ The license key is unknown or revoked');
  await terminal.reads('Pairing code');
  terminal.types('');
  await terminal.reads('Service address');
  terminal.types(mac.bridge.url);
  await terminal.reads('License key');
  terminal.types(key);
  await terminal.reads('Location');
  terminal.types('loc2');
  await terminal.reads('✔ This Mac is paired');
  await terminal.reads('Your own mobile number');
  terminal.types('');
  await terminal.reads('Your Mac is ready.');
  expect(await terminal.exited).toBe(0);
  expect(terminal.output).not.toContain(key);
  const settings = await readFile(join(mac.support, 'settings.json'), 'utf8');
  expect(settings).toContain('"loc2"');
  expect(settings).not.toContain(key);
});

it('setup --no-screen switches reactions off and does not ask for Accessibility, until setup --screen', async () => {
  await mac.macos.messages.configurePrivacy({ accessibility: false });
  const capabilities = async () =>
    JSON.parse((await mac.command(mac.program, {}, 'status')).out).state.capabilities as string[];
  const without = await mac.command(mac.program, {}, 'setup', '--no-screen');
  expect(without).toMatchObject({ code: 0, out: expect.stringContaining('Your Mac is ready.') });
  expect(without.out).not.toContain('Accessibility');
  expect(await capabilities()).not.toContain('reactions');
  expect((await mac.command(mac.program, {}, 'setup')).code).toBe(0);
  const again = await mac.command(mac.program, {}, 'setup', '--screen');
  expect(again).toMatchObject({ code: 9, out: expect.stringContaining('Not ready yet: Accessibility') });
  expect(await capabilities()).toContain('reactions');
});
