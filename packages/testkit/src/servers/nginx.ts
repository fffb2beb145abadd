import { mkdtemp, rm, writeFile } from 'node:fs/promises';
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

export interface Nginx {
  readonly url: string;
  /** Its error output. */
  readonly errors: readonly string[];
  stop(): Promise<void>;
}

/** `describe.skipIf(!(await hasNginx()))` */
export function hasNginx(): Promise<boolean> {
  return available(NGINX);
}

/** Starts nginx. `site` gets the address to listen at and returns the blocks inside `http`. */
export async function startNginx(site: (address: string) => string): Promise<Nginx> {
  return start(await findOnce(NGINX), site);
}

async function start({ path, env }: Program, site: (address: string) => string): Promise<Nginx> {
  const dir = await mkdtemp(join(tmpdir(), 'footbridge-nginx-'));
  const address = `127.0.0.1:${await freePort()}`;
  const file = join(dir, 'nginx.conf');
  await writeFile(file, around(site(address)));
  const server = new Child(path, ['-p', dir, '-c', file, '-e', 'stderr'], { env });
  const stop = async () => {
    await server.end('SIGTERM');
    await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  };
  try {
    await server.line((line) => line.includes('start worker process ') || undefined, 60_000, 'nginx is up');
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: `http://${address}`,
    get errors() {
      return server.lines.filter((line) => /\[(error|crit|alert|emerg)\]/.test(line));
    },
    stop,
  };
}

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/** A minimal nginx.conf; every path is in the directory of the test. */
const around = (site: string) => `
daemon off;
pid nginx.pid;
error_log stderr notice;
worker_processes 2;
events { worker_connections 8192; }
http {
  access_log off;
  ${TEMPORARY.map((name) => `${name}_temp_path ${name};`).join(' ')}
${site}
}
`;

const SOURCES: readonly Source<Program>[] = [
  { name: 'the PATH', find: onPath },
  {
    name: 'Debian packages',
    find: () => unpackProgram({ packages: ['nginx'], path: 'usr/sbin/nginx' }),
  },
];

export const NGINX: Finder<Program> = {
  name: 'nginx',
  find: () => firstThatWorks('nginx', SOURCES, check),
};

async function onPath(): Promise<Program | undefined> {
  const path = (await findOnPath('nginx')) ?? (await findOnPath('nginx', '/usr/sbin:/usr/local/sbin'));
  return path === undefined ? undefined : { path, env: {} };
}

async function check(program: Program): Promise<void> {
  const nginx = await start(program, (address) => `server { listen ${address}; return 204; }`);
  await nginx.stop();
}
