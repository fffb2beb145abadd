import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ed25519Key, fixedRsaKey } from '@footbridge/testkit/keys';
import { afterAll, describe, expect, it } from 'vitest';

import { StartError } from '../../errors.ts';
import { PRESET_NAMES, presetKey } from './presets.ts';
import { settingsKeys } from './settings-keys.ts';
import type { KeySettings } from './settings-keys.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(folder, { recursive: true }));

const NONE: KeySettings = { publicKey: undefined, legacyPublicKey: undefined, keysFile: undefined };
const ed25519 = ed25519Key('settings').publicKey;
const rsa = fixedRsaKey().publicKey;

function fileOf(content: unknown): string {
  const path = join(folder, `${Math.random()}.json`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

function faultsOf(settings: Partial<KeySettings>): readonly string[] {
  try {
    settingsKeys({ ...NONE, ...settings });
  } catch (error) {
    if (error instanceof StartError && error.exitCode === 3) return error.faults;
    throw error;
  }
  return [];
}

describe('keys of the settings', () => {
  it('S5 none set, none made', () => {
    expect(settingsKeys(NONE)).toEqual([]);
  });

  it('S5 CRM_PUBLIC_KEY stands under X-CRM-Signature, CRM_LEGACY_PUBLIC_KEY under X-WH-Signature', () => {
    expect(settingsKeys({ ...NONE, publicKey: ed25519, legacyPublicKey: rsa })).toMatchObject([
      {
        label: 'CRM_PUBLIC_KEY',
        scheme: 'Ed25519',
        header: 'X-CRM-Signature',
        locations: null,
        enabled: true,
      },
      { label: 'CRM_LEGACY_PUBLIC_KEY', scheme: 'RSA-SHA256', header: 'X-WH-Signature', enabled: true },
    ]);
  });

  it('S5 CRM_KEYS_FILE is a list', () => {
    const keysFile = fileOf([
      { label: 'one', scheme: 'Ed25519', header: 'X-One', publicKey: ed25519, locations: ['locA'] },
      { label: 'two', scheme: 'RSA-SHA256', header: 'X-Two', publicKey: rsa },
    ]);
    expect(settingsKeys({ ...NONE, keysFile })).toMatchObject([
      { label: 'one', header: 'X-One', locations: ['locA'] },
      { label: 'two', header: 'X-Two', locations: null },
    ]);
  });

  it('S5 the same key twice is one key', () => {
    const keysFile = fileOf([
      { label: 'x', scheme: 'Ed25519', header: 'x-crm-signature', publicKey: ed25519 },
    ]);
    expect(settingsKeys({ ...NONE, publicKey: ed25519, keysFile })).toHaveLength(1);
  });

  it('S6 all faults are told at once, by name', () => {
    const keysFile = fileOf([{ label: 'x', scheme: 'Ed25519', header: 'Host', publicKey: ed25519 }]);
    expect(faultsOf({ publicKey: rsa, legacyPublicKey: fixedRsaKey().privateKey, keysFile })).toEqual([
      expect.stringMatching(/^CRM_PUBLIC_KEY: publicKey is of type rsa/),
      expect.stringMatching(/^CRM_LEGACY_PUBLIC_KEY: publicKey is a private key/),
      expect.stringMatching(/^CRM_KEYS_FILE entry 1: header has a meaning of its own/),
    ]);
  });

  it.each([
    ['no file', join(folder, 'none.json'), /cannot be read/],
    ['not JSON', fileOf('{'), /is not JSON/],
    ['not a list', fileOf({}), /the file/],
    ['a field missing', fileOf([{ label: 'x' }]), /CRM_KEYS_FILE: 0\.scheme/],
    [
      'a field too many',
      fileOf([{ label: 'x', scheme: 'Ed25519', header: 'X-A', publicKey: 'x', kye: 1 }]),
      /kye/,
    ],
  ])('S5 CRM_KEYS_FILE with %s', (_name, keysFile, fault) => {
    expect(faultsOf({ keysFile })).toEqual([expect.stringMatching(fault)]);
  });
});

describe('presets', () => {
  it.each(PRESET_NAMES)('S5 the preset %s holds the key its fingerprint names', (name) => {
    expect(presetKey(name).publicKey).toMatch(/^-----BEGIN PUBLIC KEY-----/);
  });
});
