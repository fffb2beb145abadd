import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Child } from '../child.ts';
import { available } from './availability.ts';
import { unpackProgram } from './debian-program.ts';
import type { Program } from './debian-program.ts';
import { findOnce } from './findings.ts';
import type { Finder } from './findings.ts';
import { findOnPath } from './on-path.ts';
import { firstThatWorks } from './sources.ts';
import type { Source } from './sources.ts';

/** `describe.skipIf(!(await hasCaddy()))` */
export function hasCaddy(): Promise<boolean> {
  return available(CADDY);
}

/** Caddy with this Caddyfile and these variables in it. */
export async function startCaddy(
  file: string,
  variables: Record<string, string>,
): Promise<{ stop(): Promise<void> }> {
  const { path, env } = await findOnce(CADDY);
  const home = await mkdtemp(join(tmpdir(), 'footbridge-caddy-'));
  const places = { HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home };
  const server = new Child(path, ['run', '--adapter', 'caddyfile', '--config', file], {
    env: { ...env, ...places, ...variables },
  });
  const stop = async () => {
    await server.end('SIGTERM');
    await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  };
  try {
    await server.line(
      (line) => line.includes('serving initial configuration') || undefined,
      60_000,
      'caddy is up',
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}

const SOURCES: readonly Source<Program>[] = [
  { name: 'the PATH', find: onPath },
  { name: 'Debian packages', find: () => unpackProgram({ packages: ['caddy'], path: 'usr/bin/caddy' }) },
];

export const CADDY: Finder<Program> = {
  name: 'caddy',
  find: () => firstThatWorks('caddy', SOURCES, check),
};

async function onPath(): Promise<Program | undefined> {
  const path = await findOnPath('caddy');
  return path === undefined ? undefined : { path, env: {} };
}

async function check({ path, env }: Program): Promise<void> {
  const version = new Child(path, ['version'], { env });
  const { code } = await version.exited;
  if (code !== 0) throw new Error(`caddy version exits with ${code}`);
}
