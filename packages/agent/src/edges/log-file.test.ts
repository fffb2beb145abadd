import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, expect, it } from 'vitest';

import { LogFile, logFiles } from './log-file.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

it('rotates the log at its limit, keeps three old files and loses no line between them', async () => {
  const path = join(await tempDir(cleanup), 'logs', 'agent.log');
  const log = new LogFile(path, 100);
  for (let line = 0; line < 45; line++) log.write(`line ${String(line).padStart(2, '0')}\n`);
  log.close();
  const contents = logFiles(path).map((file) => readFileSync(file, 'utf8'));
  expect(contents.toReversed().join('')).toBe(
    Array.from({ length: 45 }, (_, line) => `line ${String(line).padStart(2, '0')}\n`).join(''),
  );
  for (const file of logFiles(path)) expect(statSync(file).size).toBeLessThanOrEqual(100);
  expect(statSync(path).mode & 0o077).toBe(0);
});

it('continues a log that is there, and discards the oldest file', async () => {
  const path = join(await tempDir(cleanup), 'agent.log');
  for (const [index, file] of logFiles(path).entries()) writeFileSync(file, `file ${index}\n`);
  const log = new LogFile(path, 10);
  log.write('new line\n');
  log.close();
  expect(logFiles(path).map((file) => readFileSync(file, 'utf8'))).toEqual([
    'new line\n',
    'file 0\n',
    'file 1\n',
    'file 2\n',
  ]);
});

it('goes on in the same file when it cannot be rotated', async () => {
  const path = join(await tempDir(cleanup), 'agent.log');
  writeFileSync(`${path}.2`, 'old\n');
  mkdirSync(`${path}.3`);
  const log = new LogFile(path, 10);
  for (const line of ['line 1\n', 'lost\n', 'line 3\n']) log.write(line);
  log.close();
  expect(readFileSync(path, 'utf8')).toBe('line 1\nline 3\n');
});

it.runIf(existsSync('/dev/full'))('does not throw when the disk is full', () => {
  const log = new LogFile('/dev/full');
  expect(() => log.write('line\n')).not.toThrow();
  log.close();
});
