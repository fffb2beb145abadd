import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { tempDir, createCleanup } from '../cleanup.ts';
import { hasNginx, NGINX, startNginx } from './nginx.ts';

const cleanup = createCleanup();
afterEach(async () => {
  await cleanup.run();
  vi.unstubAllEnvs();
});

describe.skipIf(!(await hasNginx()))('nginx for tests', () => {
  it('serves the site it is given', async () => {
    const nginx = await startNginx((address) => `server { listen ${address}; return 200 "it is me"; }`);
    cleanup.add(() => nginx.stop());
    expect(await (await fetch(nginx.url)).text()).toBe('it is me');
    expect(nginx.errors).toEqual([]);
  });

  it('rejects with the reason when it cannot start', async () => {
    await expect(startNginx(() => 'server { nonsense; }')).rejects.toThrow(/unknown directive "nonsense"/);
  });
});

it('reports in one line why no nginx can be used', async () => {
  const dir = await tempDir(cleanup);
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
