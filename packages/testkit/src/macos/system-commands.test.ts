import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createCleanup, tempDir } from '../cleanup.ts';
import { startSimulatedMacos } from '../macos.ts';
import { SystemCommands } from './system-commands.ts';
import type { SystemProgram } from './system-commands.ts';

const cleanup = createCleanup();
let system: SystemCommands;
beforeEach(() => {
  system = new SystemCommands();
});
afterEach(() => cleanup.run());

function run(program: SystemProgram, ...args: string[]): { code: number; out: string; err: string } {
  const { exitCode = 0, stdout = '', stderr = '' } = system.run({ program, arguments: args });
  return { code: exitCode, out: stdout, err: stderr };
}

describe('the simulated defaults', () => {
  it('reads one value, a list and a domain', () => {
    system.defaults.configure({ 'com.example.app': { sound: true, name: 'A b', rate: 3 } });
    expect(run('defaults', 'read', 'com.example.app', 'sound')).toMatchObject({ code: 0, out: '1\n' });
    expect(run('defaults', 'read', '-g', 'AppleLanguages').out).toBe('(\n    "en-US"\n)\n');
    expect(run('defaults', 'read', 'com.example.app').out).toBe(
      '{\n    sound = 1;\n    name = "A b";\n    rate = 3;\n}\n',
    );
  });

  it('exports a domain as a property list, and one that does not exist as an empty list', () => {
    system.defaults.configure({ 'com.example.list': { on: false, text: '<&>', all: [1.5] } });
    expect(run('defaults', 'export', 'com.example.list', '-').out).toContain(
      '<key>on</key>\n<false/>\n<key>text</key>\n<string>&lt;&amp;&gt;</string>\n<key>all</key>\n<array>\n<real>1.5</real>\n</array>',
    );
    expect(run('defaults', 'export', 'com.example.none', '-').out).toContain('<dict>\n</dict>');
  });

  it('writes and deletes values, and fails for one that does not exist', () => {
    expect(run('defaults', 'write', 'com.example.new', 'awake', '-bool', 'YES').code).toBe(0);
    expect(run('defaults', 'read', 'com.example.new', 'awake').out).toBe('1\n');
    expect(run('defaults', 'delete', 'com.example.new', 'awake').code).toBe(0);
    expect(run('defaults', 'read', 'com.example.new', 'awake')).toMatchObject({
      code: 1,
      err: 'The domain/default pair of (com.example.new, awake) does not exist\n',
    });
  });
});

describe('the simulated pmset', () => {
  it('shows the power settings, and does not change them', () => {
    system.pmset.configure({ sleep: 0 });
    expect(run('pmset', '-g').out).toMatch(/^ sleep {16}0$/m);
    expect(run('pmset', '-g', 'custom').out).toContain('AC Power:');
    expect(run('pmset', '-a', 'sleep', '1')).toMatchObject({ code: 1 });
  });
});

describe('the simulated launchctl', () => {
  const LABEL = 'com.example.agent';
  const SERVICE = `gui/501/${LABEL}`;

  async function writePlist(): Promise<string> {
    const path = join(await tempDir(cleanup), `${LABEL}.plist`);
    const program = '<key>ProgramArguments</key><array><string>/usr/bin/true</string></array>';
    const content = `<key>Label</key><string>${LABEL}</string>${program}<key>RunAtLoad</key><true/>`;
    writeFileSync(path, `<plist version="1.0"><dict>${content}</dict></plist>`);
    return path;
  }

  it('loads an agent once, starts it, shows it and unloads it', async () => {
    const path = await writePlist();
    expect(run('launchctl', 'print', SERVICE)).toMatchObject({ code: 113 });
    expect(run('launchctl', 'kickstart', SERVICE)).toMatchObject({ code: 113 });
    expect(run('launchctl', 'bootstrap', 'gui/501', path).code).toBe(0);
    expect(run('launchctl', 'bootstrap', 'gui/501', path)).toMatchObject({ code: 5 });
    const pid = (): string | undefined => /\tpid = (\d+)\n/.exec(run('launchctl', 'print', SERVICE).out)?.[1];
    const first = pid();
    expect(first).toBeDefined();
    expect(run('launchctl', 'kickstart', SERVICE).code).toBe(0);
    expect(pid()).toBe(first);
    expect(run('launchctl', 'kickstart', '-k', SERVICE).code).toBe(0);
    expect(pid()).not.toBe(first);
    expect(run('launchctl', 'bootout', SERVICE).code).toBe(0);
    expect(run('launchctl', 'bootout', SERVICE)).toMatchObject({ code: 3 });
  });

  it('does not load a file that does not exist, nor an agent that the owner switched off', async () => {
    expect(run('launchctl', 'bootstrap', 'gui/501', '/nonexistent.plist')).toMatchObject({ code: 2 });
    system.launchctl.configure({ disabled: [LABEL] });
    expect(run('launchctl', 'bootstrap', 'gui/501', await writePlist())).toMatchObject({ code: 5 });
    expect(run('launchctl', 'print-disabled', 'gui/501').out).toContain(`"${LABEL}" => disabled`);
  });
});

describe('a fault of a system program', () => {
  it('replaces the next calls with these arguments, and is used up', () => {
    const arguments_ = ['-g', 'custom'];
    system.break({
      faults: [{ program: 'pmset', arguments: arguments_, stdout: 'x', exitCode: 7, times: 2 }],
    });
    expect(run('pmset', '-g').code).toBe(0);
    expect(run('pmset', ...arguments_)).toMatchObject({ code: 7, out: 'x' });
    expect(run('pmset', ...arguments_).code).toBe(7);
    expect(run('pmset', ...arguments_).code).toBe(0);
  });
});

describe('a system program of the simulated macOS', () => {
  it('prints, ends with its exit code or a signal, and records its arguments', async () => {
    const macos = await startSimulatedMacos();
    cleanup.add(() => macos.stop());
    const { defaults } = macos.commands;
    const execute = promisify(execFile);
    expect(await execute(defaults, ['read', '-g', 'AppleLocale'])).toMatchObject({ stdout: 'en_US\n' });
    await expect(execute(defaults, ['read', 'none', 'x'])).rejects.toMatchObject({ code: 1 });
    await macos.messages.breakCommands({ faults: [{ program: 'defaults', end: 'killed', stdout: 'half' }] });
    await expect(execute(defaults, ['read', '-g'])).rejects.toMatchObject({
      signal: 'SIGKILL',
      stdout: 'half',
    });
    expect(await macos.messages.calls()).toMatchObject([
      { program: 'defaults', arguments: ['read', '-g', 'AppleLocale'] },
      {},
      { arguments: ['read', '-g'] },
    ]);
  });
});
