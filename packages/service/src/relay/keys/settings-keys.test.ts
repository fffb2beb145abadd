import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ed25519Key, fixedRsaKey } from '@footbridge/testkit/keys';
import { afterAll, describe, expect, it } from 'vitest';

import { StartError } from '../../platform/errors.ts';
import { PRESET_NAMES, presetKey } from './presets-disk.ts';
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

function problemsOf(settings: Partial<KeySettings>): readonly string[] {
  try {
    settingsKeys({ ...NONE, ...settings });
  } catch (error) {
    if (error instanceof StartError && error.exitCode === 3) return error.problems;
    throw error;
  }
  return [];
}

describe('settingsKeys', () => {
  it('S5 returns no keys without settings', () => {
    expect(settingsKeys(NONE)).toEqual([]);
  });

  it('S5 registers CRM_PUBLIC_KEY for X-CRM-Signature and CRM_LEGACY_PUBLIC_KEY for X-WH-Signature', () => {
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

  it('S5 reads a list of keys from CRM_KEYS_FILE', () => {
    const keysFile = fileOf([
      { label: 'one', scheme: 'Ed25519', header: 'X-One', publicKey: ed25519, locations: ['locA'] },
      { label: 'two', scheme: 'RSA-SHA256', header: 'X-Two', publicKey: rsa },
    ]);
    expect(settingsKeys({ ...NONE, keysFile })).toMatchObject([
      { label: 'one', header: 'X-One', locations: ['locA'] },
      { label: 'two', header: 'X-Two', locations: null },
    ]);
  });

  it('S5 returns a key that is set twice once', () => {
    const keysFile = fileOf([
      { label: 'x', scheme: 'Ed25519', header: 'x-crm-signature', publicKey: ed25519 },
    ]);
    expect(settingsKeys({ ...NONE, publicKey: ed25519, keysFile })).toHaveLength(1);
  });

  it('S6 reports all problems at once, by name', () => {
    const keysFile = fileOf([{ label: 'x', scheme: 'Ed25519', header: 'Host', publicKey: ed25519 }]);
    expect(problemsOf({ publicKey: rsa, legacyPublicKey: fixedRsaKey().privateKey, keysFile })).toEqual([
      expect.stringMatching(/^CRM_PUBLIC_KEY: publicKey is of type rsa/),
      expect.stringMatching(/^CRM_LEGACY_PUBLIC_KEY: publicKey is a private key/),
      expect.stringMatching(/^CRM_KEYS_FILE entry 1: header is reserved by HTTP/),
    ]);
  });

  it.each([
    ['a missing file', join(folder, 'none.json'), /cannot be read/],
    ['a file that is not JSON', fileOf('{'), /is not JSON/],
    ['a file that is not a list', fileOf({}), /the file/],
    ['a missing field', fileOf([{ label: 'x' }]), /CRM_KEYS_FILE: \[0\]\.scheme: must be present/],
    [
      'an unknown field',
      fileOf([{ label: 'x', scheme: 'Ed25519', header: 'X-A', publicKey: 'x', kye: 1 }]),
      /kye/,
    ],
  ])('S5 reports %s as a problem of CRM_KEYS_FILE', (_name, keysFile, problem) => {
    expect(problemsOf({ keysFile })).toEqual([expect.stringMatching(problem)]);
  });
});

describe('presetKey', () => {
  it.each(PRESET_NAMES)('S5 returns the key of %s that matches its fingerprint', (name) => {
    expect(presetKey(name).publicKey).toMatch(/^-----BEGIN PUBLIC KEY-----/);
  });
});
