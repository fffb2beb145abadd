import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { Child } from './child.ts';
import { remoteFaults } from './fault-proxy-remote.ts';
import { closeHttp, listen } from './loopback.ts';
import { createCleanup } from './cleanup.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const MAIN = fileURLToPath(new URL('fault-proxy-main.ts', import.meta.url));

interface Ready {
  controlUrl: string;
  links: Record<string, string>;
}

it('runs as a process with named links and is controlled through its control port', async () => {
  const server = createServer((_, response) => response.end('done'));
  const port = await listen(server);
  cleanup.add(() => closeHttp(server));
  const child = new Child(process.execPath, [MAIN, '--link', `web=127.0.0.1:${port}`, '--seed', '5']);
  cleanup.add(() => child.end('SIGKILL'));
  const ready = await child.line((line): Ready => JSON.parse(line), 60_000, 'ready');
  const faults = remoteFaults(ready.controlUrl);
  const get = () => fetch(`http://${ready.links['web']}/`, { headers: { Connection: 'close' } });

  expect((await get()).status).toBe(200);
  const { id } = await faults.add({ link: 'web', toxic: { type: 'drop_response' } });
  await expect(get()).rejects.toThrow('fetch failed');
  expect(await faults.links()).toMatchObject([
    { link: 'web', seen: { connections: 2 }, toxics: [{ id, hits: 1, toxic: { type: 'drop_response' } }] },
  ]);
  await faults.remove({ link: 'web', id });
  expect((await get()).status).toBe(200);
  await faults.down({ link: 'web' });
  await expect(get()).rejects.toThrow('fetch failed');
  await faults.up({ link: 'web' });
  expect((await get()).status).toBe(200);
  await expect(faults.cut({ link: 'nowhere' })).rejects.toThrow('Unknown link nowhere; known links: web');
  expect(await child.end()).toEqual({ code: 0, signal: null });
});

it('rejects an invalid link', async () => {
  const child = new Child(process.execPath, [MAIN, '--link', 'nonsense']);
  expect(await child.exited).toEqual({ code: 2, signal: null });
  expect(child.lines.join()).toContain('use name=host:port');
});
