import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, expect, it } from 'vitest';

import { createCleanup, tempDir } from '../cleanup.ts';
import { readToEnd } from './read-to-end.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

it('a descriptor that does not block is read to its end although the data arrives later', async () => {
  const pipe = join(await tempDir(cleanup), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const descriptor = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  cleanup.add(() => closeSync(descriptor));
  const writer = spawn(
    'sh',
    ['-c', `exec >'${pipe}'; echo open >&2; sleep 0.2; echo one; sleep 0.2; echo two`],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  await once(writer.stderr, 'data');
  expect(readToEnd(descriptor).toString()).toBe('one\ntwo\n');
});
