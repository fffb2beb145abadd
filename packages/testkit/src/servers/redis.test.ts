import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

import { freePort } from '../ports.ts';
import { tempDir, createCleanup } from '../cleanup.ts';
import { hasRedis, REDIS, startRedis } from './redis.ts';
import type { Redis } from './redis.ts';
import { canStepClocks } from './stepped-clock.ts';

const canRun = await hasRedis();
const hasClocks = await canStepClocks();

describe.skipIf(!canRun)('Redis for tests', () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  it('responds, and is empty after a flush', async () => {
    expect(await ask(redis, 'SET a 1')).toBe('+OK');
    expect(await ask(redis, 'EXISTS a')).toBe(':1');
    await redis.flush();
    expect(await ask(redis, 'EXISTS a')).toBe(':0');
  });

  it('is empty after a restart, or keeps its data on request', async () => {
    await ask(redis, 'SET a 1');
    await redis.restart({ keepData: true });
    expect(await ask(redis, 'EXISTS a')).toBe(':1');
    await redis.restart();
    expect(await ask(redis, 'EXISTS a')).toBe(':0');
  });

  it('stops responding when it is killed, and can be restarted', async () => {
    await redis.kill();
    await expect(ask(redis, 'PING')).rejects.toThrow('ECONNREFUSED');
    await redis.restart();
    expect(await ask(redis, 'PING')).toBe('+PONG');
  });

  it('keeps its connections while it is frozen, and responds afterwards', async () => {
    redis.pause();
    const answer = ask(redis, 'PING');
    expect(await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 100, 'silence'))])).toBe(
      'silence',
    );
    redis.resume();
    expect(await answer).toBe('+PONG');
  });

  it.skipIf(!hasClocks)('has a clock that can be set', async () => {
    const other = await startRedis({ steppedClock: true });
    const offset = async () => Number((await ask(other, 'TIME')).split(/\s+/)[2]) - Date.now() / 1000;
    await ask(other, 'SET a 1 PX 600000');
    expect(Math.abs(await offset())).toBeLessThan(5);
    other.stepClock(3600);
    expect(Math.abs((await offset()) - 3600)).toBeLessThan(5);
    expect(await ask(other, 'EXISTS a')).toBe(':0');
    other.stepClock(-3600);
    expect(Math.abs((await offset()) + 3600)).toBeLessThan(5);
    await other.stop();
    expect(() => redis.stepClock(1)).toThrow(/clock of the machine/);
  });

  it('can be stopped while frozen', async () => {
    const other = await startRedis();
    other.pause();
    await other.stop();
    await expect(ask(other, 'PING')).rejects.toThrow('ECONNREFUSED');
  });
});

describe('a redis-server on the PATH that does not start', () => {
  const cleanup = createCleanup();
  afterEach(async () => {
    await cleanup.run();
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  /** A machine that has only this server. */
  async function machine(): Promise<string> {
    const dir = await tempDir(cleanup);
    const path = join(dir, 'redis-server');
    await writeFile(path, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    vi.stubEnv('PATH', dir);
    vi.stubEnv('XDG_CACHE_HOME', dir);
    vi.stubEnv('REDIS_URL', undefined);
    return path;
  }

  it.skipIf(!canRun)('is replaced by the one at REDIS_URL, which is reported in one line', async () => {
    const redis = await startRedis();
    cleanup.add(() => redis.stop());
    const path = await machine();
    const url = `${redis.url.replace('//', '//user:secret@')}/0`;
    vi.stubEnv('REDIS_URL', url);
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    expect(await REDIS.find()).toMatchObject({ url });
    const used = `using redis-server from REDIS_URL, ${new URL(url).host}`;
    expect(written.mock.calls).toEqual([[`${used}; not the PATH, ${path}: Exited (1) before Redis is up\n`]]);
  });

  it('is reported in one line with the reasons when there is no other source', async () => {
    const path = await machine();
    const port = await freePort();
    vi.stubEnv('REDIS_URL', `redis://127.0.0.1:${port}`);
    await expect(REDIS.find()).rejects.toThrow(
      new Error(
        `the PATH, ${path}: Exited (1) before Redis is up; ` +
          `REDIS_URL, 127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}; ` +
          'Debian packages: no apt-cache on this machine',
      ),
    );
  });
});

async function ask(redis: Redis, line: string): Promise<string> {
  const socket = connect(Number(new URL(redis.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`${line}\r\n`);
  const [data]: Buffer[] = await once(socket, 'data');
  socket.destroy();
  return String(data).trim();
}
