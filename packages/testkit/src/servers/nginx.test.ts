import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { tempDir, undoList } from '../undo.ts';
import { hasNginx, NGINX, startNginx } from './nginx.ts';

const undo = undoList();
afterEach(async () => {
  await undo.run();
  vi.unstubAllEnvs();
});

describe.skipIf(!(await hasNginx()))('nginx for tests', () => {
  it('serves the site it is given', async () => {
    const nginx = await startNginx((address) => `server { listen ${address}; return 200 "it is me"; }`);
    undo.add(() => nginx.stop());
    expect(await (await fetch(nginx.url)).text()).toBe('it is me');
    expect(nginx.errors).toEqual([]);
  });

  it('says why it cannot', async () => {
    await expect(startNginx(() => 'server { nonsense; }')).rejects.toThrow(/unknown directive "nonsense"/);
  });
});

it('an nginx that does not start is one line of reasons where there is no other', async () => {
  const dir = await tempDir(undo);
  const path = join(dir, 'nginx');
  await writeFile(path, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  vi.stubEnv('PATH', dir);
  vi.stubEnv('XDG_CACHE_HOME', dir);
  await expect(NGINX.find()).rejects.toThrow(
    new Error(
      `the PATH, ${path}: Exited (1) before nginx is up; Debian packages: no apt-cache on this machine`,
    ),
  );
});
