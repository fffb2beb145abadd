import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { readSettings, SettingError } from './settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-settings-'));
afterAll(() => rmSync(folder, { recursive: true }));

const number = (text: string): number => {
  if (!/^\d+$/.test(text)) throw new SettingError('must be a number');
  return Number(text);
};
const TABLE = {
  port: { name: 'PORT', flag: '--port <port>', about: 'Port.', fallback: '80', parse: number },
  proxy: { name: 'PROXY', alias: 'proxy', about: 'Proxy.', parse: String },
  key: { name: 'KEY', about: 'Key.', secret: true, fromFile: true, parse: number },
} as const;

describe('settings', () => {
  it('come from the flag, then the variable, then the default', () => {
    const env = { PORT: '81' };
    expect(readSettings(TABLE, env, { port: '82' }).settings?.port).toBe(82);
    expect(readSettings(TABLE, env).settings?.port).toBe(81);
    expect(readSettings(TABLE, { PORT: '' }).settings?.port).toBe(80);
  });

  it('come from the alias before the name', () => {
    expect(readSettings(TABLE, { proxy: 'a', PROXY: 'b' }).settings?.proxy).toBe('a');
    expect(readSettings(TABLE, { proxy: '', PROXY: 'b' }).settings?.proxy).toBe('b');
  });

  it('come from a file where the table allows it', () => {
    const file = join(folder, 'key');
    writeFileSync(file, ' 7\n');
    const { valid, origins } = readSettings(TABLE, { KEY_FILE: file, PORT_FILE: file }, { port: true });
    expect(valid.key).toBe(7);
    expect(Object.fromEntries(origins)).toEqual({ PORT: 'flag', PROXY: 'unset', KEY: 'file' });
  });

  it('are all read, and every problem is reported by name and without the value', () => {
    const env = { PORT: 'four', KEY_FILE: join(folder, 'absent'), PROXY: 'b' };
    const { settings, valid, problems } = readSettings(TABLE, env);
    expect(settings).toBeUndefined();
    expect(valid.proxy).toBe('b');
    expect(problems).toEqual([
      '--port (PORT) must be a number',
      'KEY_FILE names a file that cannot be read; check that it is a regular file, its path and its permissions',
    ]);
  });

  it('pass on an error of a parser that is not about the value', () => {
    const broken = { name: 'A', about: '', parse: () => expect.fail('a bug') };
    expect(() => readSettings({ broken }, { A: '1' })).toThrow('a bug');
  });
});
