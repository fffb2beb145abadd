import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { LogFile, logFiles } from './log-file.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

it('rotates the log at its limit, keeps three old files and loses no line between them', async () => {
  const path = join(await tempDir(cleanup), 'logs', 'agent.log');
  const log = new LogFile(path, { maxBytes: 100 });
  for (let line = 0; line < 45; line++) log.write(`line ${String(line).padStart(2, '0')}\n`);
  log.close();
  const contents = logFiles(path).map((file) => readFileSync(file, 'utf8'));
  expect(contents.toReversed().join('')).toBe(
    Array.from({ length: 45 }, (_, line) => `line ${String(line).padStart(2, '0')}\n`).join(''),
  );
  for (const file of logFiles(path)) expect(statSync(file).size).toBeLessThanOrEqual(100);
  expect(statSync(path).mode & 0o077).toBe(0);
});

it('appends to an existing log, and discards the oldest file', async () => {
  const path = join(await tempDir(cleanup), 'agent.log');
  for (const [index, file] of logFiles(path).entries()) writeFileSync(file, `file ${index}\n`);
  const log = new LogFile(path, { maxBytes: 10 });
  log.write('new line\n');
  log.close();
  expect(logFiles(path).map((file) => readFileSync(file, 'utf8'))).toEqual([
    'new line\n',
    'file 0\n',
    'file 1\n',
    'file 2\n',
  ]);
});

/** A log that cannot be rotated, because one of its old files is a folder. */
async function stuckLog(maxBytes: number) {
  const path = join(await tempDir(cleanup), 'agent.log');
  writeFileSync(`${path}.2`, 'old\n');
  mkdirSync(`${path}.3`);
  const errors: unknown[] = [];
  const log = new LogFile(path, { maxBytes, onRotationFailed: (error) => errors.push(error) });
  cleanup.add(() => log.close());
  return { path, log, errors, read: () => readFileSync(path, 'utf8') };
}

it('appends to the same file when it cannot be rotated', async () => {
  const { log, read } = await stuckLog(10);
  for (const line of ['line 1\n', 'line 2\n', 'line 3\n']) log.write(line);
  expect(read()).toBe('line 1\nline 2\nline 3\n');
});

it('truncates a file that can never be rotated, and keeps the newest lines', async () => {
  const { path, log, read } = await stuckLog(100);
  let largest = 0;
  for (let line = 0; line < 1000; line++) {
    log.write(`line ${String(line).padStart(3, '0')}\n`);
    largest = Math.max(largest, statSync(path).size);
  }
  expect(largest).toBeLessThanOrEqual(400);
  expect(read()).toMatch(/^line \d+\n[^]*line 999\n$/);
});

it('truncates a file that is already too large when it cannot be rotated', async () => {
  const { path, read } = await stuckLog(10);
  writeFileSync(path, 'x'.repeat(1000));
  const log = new LogFile(path, { maxBytes: 10 });
  log.write('first\n');
  log.close();
  expect(read()).toBe('first\n');
});

it('reports a failed rotation once, again after the file was truncated, and again after a successful rotation', async () => {
  const { path, log, errors } = await stuckLog(100);
  const write = (bytes: number): void => {
    for (let written = 0; written < bytes; written += 20) log.write('a line\n'.padStart(20, '.'));
  };
  write(400);
  expect(errors).toMatchObject([{ syscall: 'rename' }]);
  write(20);
  expect(errors).toHaveLength(2);
  rmdirSync(`${path}.3`);
  write(100);
  rmSync(`${path}.3`);
  mkdirSync(`${path}.3`);
  writeFileSync(`${path}.2`, '');
  write(100);
  expect(errors).toHaveLength(3);
});

/** Makes a file append-only, so that it can be neither renamed nor truncated. Returns false where the system does not allow it. */
function setAppendOnly(path: string, isAppendOnly: boolean): boolean {
  const [program, flag] =
    process.platform === 'darwin'
      ? ['chflags', isAppendOnly ? 'uappnd' : 'nouappnd']
      : ['chattr', isAppendOnly ? '+a' : '-a'];
  return spawnSync(program, [flag, path]).status === 0;
}

describe.runIf(canSetAppendOnly())('a file that can be neither renamed nor truncated', () => {
  it('keeps every line and the old files, and its failed truncations are reported', async () => {
    const path = join(await tempDir(cleanup), 'agent.log');
    const old = logFiles(path).slice(1);
    for (const file of old) writeFileSync(file, `${file}\n`);
    writeFileSync(path, '');
    setAppendOnly(path, true);
    cleanup.add(() => setAppendOnly(path, false));
    const reports: string[] = [];
    const log = new LogFile(path, {
      maxBytes: 100,
      onRotationFailed: (error) => reports.push(`rotation ${String(error)}`),
      onTruncationFailed: (error) => reports.push(`truncation ${String(error)}`),
    });
    cleanup.add(() => log.close());
    const lines = Array.from({ length: 60 }, (_, line) => `line ${String(line).padStart(4, '0')}\n`);
    for (const line of lines) log.write(line);
    expect(readFileSync(path, 'utf8')).toBe(lines.join(''));
    expect(old.map((file) => readFileSync(file, 'utf8'))).toEqual(old.map((file) => `${file}\n`));
    expect(reports).toEqual([
      expect.stringMatching(/^rotation .*EPERM.*rename/),
      expect.stringMatching(/^truncation .*EPERM.*ftruncate/),
      expect.stringMatching(/^truncation .*EPERM.*ftruncate/),
    ]);
  });
});

function canSetAppendOnly(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const isAllowed = setAppendOnly(file, true) && setAppendOnly(file, false);
  rmSync(folder, { recursive: true });
  return isAllowed;
}

it('keeps the old files while the current one cannot be renamed', async () => {
  const path = join(await tempDir(cleanup), 'agent.log');
  const old = logFiles(path).slice(1);
  for (const file of old) writeFileSync(file, `${file}\n`);
  // The current file is renamed to this one first.
  mkdirSync(`${path}.0`);
  const log = new LogFile(path, { maxBytes: 10 });
  cleanup.add(() => log.close());
  for (let line = 0; line < 10; line++) log.write(`line ${line}\n`);
  expect(old.map((file) => readFileSync(file, 'utf8'))).toEqual(old.map((file) => `${file}\n`));
});

it('begins a new file after a cleanup tool removed the folder', async () => {
  const folder = join(await tempDir(cleanup), 'logs');
  const path = join(folder, 'agent.log');
  const log = new LogFile(path, { maxBytes: 10 });
  log.write('line 1\n');
  rmSync(folder, { recursive: true });
  log.write('line 2\n');
  log.close();
  expect(readFileSync(path, 'utf8')).toBe('line 2\n');
});

it.runIf(existsSync('/dev/full'))('does not throw when the disk is full', () => {
  const log = new LogFile('/dev/full');
  expect(() => log.write('line\n')).not.toThrow();
  log.close();
});

it('keeps the lines of a process that died during a rotation', async () => {
  const path = join(await tempDir(cleanup), 'agent.log');
  // The process died between the rename to `.0` and the rename to `.1`.
  writeFileSync(`${path}.0`, 'before the crash\n');
  const log = new LogFile(path, { maxBytes: 10 });
  cleanup.add(() => log.close());
  for (const line of ['line 1\n', 'line 2\n']) log.write(line);
  expect(logFiles(path).map((file) => existsSync(file) && readFileSync(file, 'utf8'))).toEqual([
    'line 2\n',
    'line 1\n',
    'before the crash\n',
    false,
  ]);
});
