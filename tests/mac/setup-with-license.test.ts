import { join } from 'node:path';
import { readFile } from 'node:fs/promises';

import { createCleanup } from '@footbridge/testkit/cleanup';
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

it('M12 setup names a used code, and asks for the address and the license key of a Mac without a code', async () => {
  const { id, key } = await mac.bridge.createLicense(1);
  await mac.bridge.operator('PUT', '/operator/locations/loc2', { licenseId: id });
  const terminal = mac.inTerminal({}, 'setup');
  await terminal.reads('Pairing code');
  terminal.types('');
  await terminal.reads('Service address');
  terminal.types('not an address');
  await terminal.reads('✖ This is not an address');
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
