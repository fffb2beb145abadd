import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasRedis, startRedis } from './redis.ts';
import type { Redis } from './redis.ts';

describe.skipIf(!(await hasRedis()))('Redis for tests', () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  it('answers, and forgets when flushed', async () => {
    expect(await ask(redis, 'SET a 1')).toBe('+OK');
    expect(await ask(redis, 'EXISTS a')).toBe(':1');
    await redis.flush();
    expect(await ask(redis, 'EXISTS a')).toBe(':0');
  });

  it('comes back empty from a restart, or with its data', async () => {
    await ask(redis, 'SET a 1');
    await redis.restart({ keepData: true });
    expect(await ask(redis, 'EXISTS a')).toBe(':1');
    await redis.restart();
    expect(await ask(redis, 'EXISTS a')).toBe(':0');
  });

  it('is gone when killed, and can be brought back', async () => {
    await redis.kill();
    await expect(ask(redis, 'PING')).rejects.toThrow('ECONNREFUSED');
    await redis.restart();
    expect(await ask(redis, 'PING')).toBe('+PONG');
  });

  it('keeps its connections while it is frozen, and answers after', async () => {
    redis.pause();
    const answer = ask(redis, 'PING');
    expect(await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 100, 'silence'))])).toBe(
      'silence',
    );
    redis.resume();
    expect(await answer).toBe('+PONG');
  });

  it('can be stopped while frozen', async () => {
    const other = await startRedis();
    other.pause();
    await other.stop();
    await expect(ask(other, 'PING')).rejects.toThrow('ECONNREFUSED');
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
