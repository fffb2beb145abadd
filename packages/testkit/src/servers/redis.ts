import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child } from '../child.ts';
import { freePort } from '../ports.ts';
import { available } from './availability.ts';
import { unpackProgram } from './debian-program.ts';
import type { Program } from './debian-program.ts';
import { findOnPath } from './on-path.ts';

export interface Redis {
  readonly url: string;
  /** Ends it and removes its files. */
  stop(): Promise<void>;
  /** Same port. Empty afterwards unless the data is kept: the two lives of a Redis in production. */
  restart(options?: { keepData?: boolean }): Promise<void>;
  /** kill -9; `restart` brings it back. */
  kill(): Promise<void>;
  flush(): Promise<void>;
  /** Frozen with its connections open (SIGSTOP), until `resume`. */
  pause(): void;
  resume(): void;
}

/** `describe.skipIf(!(await hasRedis()))` */
export function hasRedis(): Promise<boolean> {
  return available('redis-server', findRedis);
}

/** A Redis of the caller's own; where there is no program to run, the one at REDIS_URL, which cannot be restarted. */
export async function startRedis(): Promise<Redis> {
  const found = await findRedis();
  if ('url' in found) return foreign(found.url);
  const dir = await mkdtemp(join(tmpdir(), 'footbridge-redis-'));
  const remove = () => rm(dir, { recursive: true, force: true });
  const port = await freePort({ below: 32_768 });
  const url = `redis://127.0.0.1:${port}`;
  let server: Child;
  try {
    server = await launch(found, dir, port);
  } catch (error) {
    await remove();
    throw error;
  }
  const end = async () => {
    // A frozen process takes its leave only once it is thawed.
    server.signal('SIGCONT');
    await server.end('SIGTERM');
  };
  return {
    url,
    async stop() {
      await end();
      await remove();
    },
    async restart({ keepData = false } = {}) {
      if (server.isRunning && keepData) await command(url, 'SAVE');
      await end();
      if (!keepData) await rm(join(dir, 'dump.rdb'), { force: true });
      server = await launch(found, dir, port);
    },
    async kill() {
      await server.end('SIGKILL');
    },
    flush: () => command(url, 'FLUSHALL'),
    pause: () => server.signal('SIGSTOP'),
    resume: () => server.signal('SIGCONT'),
  };
}

// The server's program lies in redis-tools, under several names.
const DEBIAN = { packages: ['redis-tools', 'redis-server'], path: 'usr/bin/redis-server' } as const;

let sought: Promise<Program | { url: string }> | undefined;

function findRedis(): Promise<Program | { url: string }> {
  sought ??= seek();
  return sought;
}

async function seek(): Promise<Program | { url: string }> {
  const path = (await findOnPath('redis-server')) ?? (await findOnPath('valkey-server'));
  if (path !== undefined) return { path, env: {} };
  const url = process.env['REDIS_URL'];
  return url === undefined ? unpackProgram(DEBIAN) : { url };
}

async function launch({ path, env }: Program, dir: string, port: number): Promise<Child> {
  const settings = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    dir,
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  const server = new Child(path, settings, { env });
  await server.line((line) => /ready to accept connections/i.test(line) || undefined, 10_000, 'Redis is up');
  return server;
}

function foreign(url: string): Redis {
  const cannot = (what: string) => () => {
    throw new Error(`Cannot ${what} the Redis at REDIS_URL: it is not ours. Put redis-server on the PATH.`);
  };
  return {
    url,
    stop: () => Promise.resolve(),
    restart: cannot('restart'),
    kill: cannot('kill'),
    flush: () => command(url, 'FLUSHDB'),
    pause: cannot('pause'),
    resume: cannot('resume'),
  };
}

/** One word to the server, waiting for its OK. */
function command(url: string, word: string): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port || 6379), hostname, () => socket.write(`${word}\r\n`));
    socket.setTimeout(5_000, () => socket.destroy(new Error(`Redis did not answer ${word}.`)));
    socket.once('error', reject);
    socket.once('data', (answer) => {
      socket.destroy();
      if (answer.toString().startsWith('+OK')) resolve();
      else reject(new Error(`Redis refused ${word}: ${answer.toString().trim()}`));
    });
  });
}
