import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, expect, it } from 'vitest';

import { readPasswordFile } from './password-file.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function write(text: string, mode: number): Promise<string> {
  const path = join(await tempDir(cleanup), 'password');
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

it('reads a password from a file of its owner, without the line end', async () => {
  expect(readPasswordFile(await write('pass word&1\n', 0o600))).toBe('pass word&1');
});

it.each([
  ['others can read', 'secret', 0o640, 'chmod 600'],
  ['is empty', ' \n', 0o600, 'empty'],
])('rejects a file that %s', async (_, text, mode, part) => {
  const path = await write(text, mode);
  expect(() => readPasswordFile(path)).toThrow(expect.objectContaining({ name: 'ConfigurationError' }));
  expect(() => readPasswordFile(path)).toThrow(part);
  expect(() => readPasswordFile(path)).not.toThrow('secret');
});

it('rejects a file that does not exist', () => {
  expect(() => readPasswordFile('/does/not/exist')).toThrow('FOOTBRIDGE_BLUEBUBBLES_PASSWORD_FILE');
});
