import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child } from '../child.ts';
import { freePort } from '../ports.ts';
import { available } from './availability.ts';
import { unpackProgram } from './debian-program.ts';
import type { Program } from './debian-program.ts';
import { findOnce } from './findings.ts';
import type { Finder } from './findings.ts';
import { findOnPath } from './on-path.ts';
import { firstThatWorks } from './sources.ts';
import type { Source } from './sources.ts';
import { steppedClock } from './stepped-clock.ts';

export interface Redis {
  readonly url: string;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
  /** Restarts the server on the same port. It is empty afterwards unless the data is kept; both happen in production. */
  restart(options?: { keepData?: boolean }): Promise<void>;
  /** Kills the server with kill -9. `restart` starts it again. */
  kill(): Promise<void>;
  flush(): Promise<void>;
  /** Sends one command, in words without spaces. Resolves with the start of its response; an error reply rejects. */
  command(words: string): Promise<string>;
  /** Frozen with its connections open (SIGSTOP), until `resume`. */
  pause(): void;
  resume(): void;
  /** Sets how many seconds its clock is off. Only with the option `steppedClock`. */
  stepClock(seconds: number): void;
}

/** `describe.skipIf(!(await hasRedis()))` */
export function hasRedis(): Promise<boolean> {
  return available(REDIS);
}

/** A Redis of the caller's own; where there is no program to run, the one at REDIS_URL, which cannot be restarted. */
export async function startRedis(options: RedisOptions = {}): Promise<Redis> {
  return start(await findOnce(REDIS), options);
}

export interface RedisOptions {
  /** Needs `canStepClocks`. */
  readonly steppedClock?: boolean;
}

async function start(
  found: Program | Address,
  { steppedClock: hasClock = false }: RedisOptions = {},
): Promise<Redis> {
  if ('url' in found) {
    if (hasClock) throw notOurs('set up');
    return foreign(found.url);
  }
  const dir = await mkdtemp(join(tmpdir(), 'footbridge-redis-'));
  const remove = () => rm(dir, { recursive: true, force: true });
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const clock = hasClock ? await steppedClock(dir) : undefined;
  const program = { ...found, env: { ...found.env, ...clock?.env } };
  let server: Child;
  try {
    server = await launch(program, dir, port);
  } catch (error) {
    await remove();
    throw error;
  }
  const end = async () => {
    // A frozen process only exits after it is resumed.
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
      server = await launch(program, dir, port);
    },
    async kill() {
      await server.end('SIGKILL');
    },
    flush: async () => void (await command(url, 'FLUSHALL')),
    command: (words) => command(url, words),
    pause: () => server.signal('SIGSTOP'),
    resume: () => server.signal('SIGCONT'),
    stepClock(seconds) {
      if (clock === undefined) throw new Error('This Redis has the clock of the machine.');
      clock.step(seconds);
    },
  };
}

// The program of the server is in redis-tools, under several names.
const DEBIAN = { packages: ['redis-tools', 'redis-server'], path: 'usr/bin/redis-server' } as const;

interface Address {
  readonly url: string;
  /** For reports: the URL may hold a password. */
  readonly path: string;
}

const SOURCES: readonly Source<Program | Address>[] = [
  { name: 'the PATH', find: onPath },
  { name: 'REDIS_URL', find: fromEnvironment },
  { name: 'Debian packages', find: () => unpackProgram(DEBIAN) },
];

export const REDIS: Finder<Program | Address> = {
  name: 'redis-server',
  find: () => firstThatWorks('redis-server', SOURCES, check),
};

async function onPath(): Promise<Program | undefined> {
  const path = (await findOnPath('redis-server')) ?? (await findOnPath('valkey-server'));
  return path === undefined ? undefined : { path, env: {} };
}

function fromEnvironment(): Promise<Address | undefined> {
  const url = process.env['REDIS_URL'];
  return Promise.resolve(url ? { url, path: new URL(url).host } : undefined);
}

/** Accepts any response: a request for a password also comes from a Redis. */
async function check(found: Program | Address): Promise<void> {
  const redis = await start(found);
  try {
    await command(redis.url, 'PING', false);
  } finally {
    await redis.stop();
  }
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
    // A failover does not wait for a disk, nor for the next of two replicas.
    '--repl-diskless-sync-delay',
    '0',
  ];
  const server = new Child(path, settings, { env });
  await server.line((line) => /ready to accept connections/i.test(line) || undefined, 60_000, 'Redis is up');
  return server;
}

const notOurs = (what: string) =>
  new Error(`Cannot ${what} the Redis at REDIS_URL: it is not ours. Put redis-server on the PATH.`);

function foreign(url: string): Redis {
  const cannot = (what: string) => () => {
    throw notOurs(what);
  };
  return {
    url,
    stop: () => Promise.resolve(),
    restart: cannot('restart'),
    kill: cannot('kill'),
    flush: async () => void (await command(url, 'FLUSHDB')),
    command: (words) => command(url, words),
    pause: cannot('pause'),
    resume: cannot('resume'),
    stepClock: cannot('set the clock of'),
  };
}

/** Starts a sentinel on this port, with its state in the folder. */
export async function launchSentinel(dir: string, port: number, settings: readonly string[]): Promise<Child> {
  const found = await findOnce(REDIS);
  if ('url' in found) throw notOurs('watch');
  const file = join(dir, `sentinel-${port}.conf`);
  await writeFile(file, [`port ${port}`, 'bind 127.0.0.1', `dir ${dir}`, ...settings, ''].join('\n'));
  const sentinel = new Child(found.path, [file, '--sentinel'], { env: found.env });
  await sentinel.line((line) => /\+monitor master/.test(line) || undefined, 60_000, 'the sentinel is up');
  return sentinel;
}

/** Sends one command to the server. Rejects when it responds with an error, unless that is not `checked`. */
export function command(url: string, words: string, checked = true): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port || 6379), hostname, () => socket.write(`${words}\r\n`));
    socket.setTimeout(5_000, () => socket.destroy(new Error(`Redis did not respond to ${words}.`)));
    socket.once('error', reject);
    socket.once('data', (data) => {
      socket.destroy();
      const response = data.toString().trim();
      if (checked && response.startsWith('-')) reject(new Error(`Redis refused ${words}: ${response}`));
      else resolve(response);
    });
  });
}
