import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';

import type { Setting } from '@footbridge/runtime/settings';
import { afterAll, describe, expect, it } from 'vitest';

import { readConfig, readSettings, summary } from './config.ts';
import { SETTINGS } from './settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('settings', () => {
  it('come from flags, then from variables, then from defaults', () => {
    const env = {
      FOOTBRIDGE_URL: 'http://env.example/',
      FOOTBRIDGE_LOCATION: 'env',
      FOOTBRIDGE_MACOS: '15.6',
    };
    const read = readConfig({ location: 'flag' }, env);
    expect(read).toMatchObject({
      ok: true,
      value: {
        url: 'http://env.example',
        location: 'flag',
        macos: '15.6',
        queueLimit: 500,
        heartbeatMs: 15_000,
      },
    });
  });

  it('are read from the data folder when neither a flag nor a variable is given', () => {
    writeFileSync(
      join(folder, 'settings.json'),
      '{"FOOTBRIDGE_URL":"http://saved.example","FOOTBRIDGE_LOCATION":"saved"}',
    );
    const read = readConfig({ dataDir: folder }, { FOOTBRIDGE_LOCATION: 'env' });
    expect(read).toMatchObject({ ok: true, value: { url: 'http://saved.example', location: 'env' } });
    for (const text of ['{', '[]', '{"FOOTBRIDGE_URL":1}']) {
      writeFileSync(join(folder, 'settings.json'), text);
      const problems = [expect.stringContaining('settings.json must be a JSON object')];
      expect(readSettings({ dataDir: folder }, {})).toEqual({ ok: false, problems });
    }
    rmSync(join(folder, 'settings.json'));
  });

  it('with several problems are reported together, by name and without values', () => {
    const read = readConfig(
      { url: 'ftp://secret', deviceId: 'short', controlPort: '70000' },
      { FOOTBRIDGE_HEARTBEAT_SEC: 'soon', FOOTBRIDGE_ALLOW_LOOPBACK: 'yes', FOOTBRIDGE_MACOS: '11' },
    );
    const problems = read.ok ? [] : read.problems;
    const names = [
      '--url',
      '--location',
      '--device-id',
      '--control-port',
      'HEARTBEAT_SEC',
      '--allow-loopback',
      '--macos',
    ];
    for (const name of names)
      expect(
        problems.filter((problem) => problem.includes(name)),
        name,
      ).toHaveLength(1);
    expect(problems.join()).not.toMatch(/secret|short|70000|soon/);
  });

  it.each([
    ['0', { minMs: 0, maxMs: 0 }],
    ['1500', { minMs: 1500, maxMs: 1500 }],
    ['1000-3000', { minMs: 1000, maxMs: 3000 }],
    ['3000-1000', undefined],
    ['1-600001', undefined],
    ['-5', undefined],
    ['1s', undefined],
  ])('have the pause %s between two sends as a number or a range', (text, sendGap) => {
    const read = readSettings({}, { FOOTBRIDGE_SEND_GAP_MS: text });
    expect(read.ok ? read.value.sendGap : undefined).toEqual(sendGap);
    expect(read.ok).toBe(sendGap !== undefined);
  });

  it.each([
    ['http://127.0.0.1:1234/', 'http://127.0.0.1:1234'],
    ['http://localhost:4321', 'http://localhost:4321'],
    ['http://[::1]:1234', 'http://[::1]:1234'],
    ['http://192.168.1.20:1234', undefined],
    ['http://127.0.0.1.example.com:1234', undefined],
    ['http://user:pass@127.0.0.1:1234', undefined],
    ['http://127.0.0.1:1234/?password=x', undefined],
    ['https://127.0.0.1:1234', undefined],
    ['bluebubbles', undefined],
  ])('take %s as an address of BlueBubbles on this Mac: %s', (given, expected) => {
    const read = readSettings({}, { FOOTBRIDGE_BLUEBUBBLES_URL: given });
    if (expected === undefined)
      expect(read).toMatchObject({ ok: false, problems: [expect.stringContaining('another machine')] });
    else expect(read).toMatchObject({ ok: true, value: { bluebubblesUrl: expected } });
  });

  it('ignore an empty variable', () => {
    expect(readSettings({}, { FOOTBRIDGE_MACOS: '', FOOTBRIDGE_URL: '' })).toMatchObject({
      ok: true,
      value: { macos: '26.1' },
    });
  });

  it('read the license from a file and mask it in the summary', () => {
    const path = join(folder, 'license');
    writeFileSync(path, 'SECRET-KEY\n');
    const read = readSettings({}, { FOOTBRIDGE_LICENSE_FILE: path });
    expect(read).toMatchObject({ ok: true, value: { license: 'SECRET-KEY' } });
    if (read.ok) {
      expect(summary(read.value)).toMatchObject({ license: 'given' });
      expect(JSON.stringify(summary(read.value))).not.toContain('SECRET');
    }
    expect(readSettings({}, { FOOTBRIDGE_LICENSE_FILE: join(folder, 'none') })).toMatchObject({ ok: false });
  });

  it('are all documented with their defaults', () => {
    const docs = readFileSync(new URL('../../../../docs/agent.md', import.meta.url), 'utf8');
    for (const { name, flag, fallback } of Object.values<Setting>(SETTINGS)) {
      const row = docs.split('\n').find((line) => line.startsWith(`| \`${name}\``));
      expect(row, name).toBeDefined();
      if (flag !== undefined) expect(row).toContain(`\`${flag.split(' ')[0]}`);
      if (fallback !== undefined && name !== 'FOOTBRIDGE_AGENT_DIR') expect(row).toContain(`\`${fallback}\``);
    }
  });
});
