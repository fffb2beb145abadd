import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { tempDir } from '@footbridge/testkit/cleanup';
import type { Cleanup } from '@footbridge/testkit/cleanup';

import { withNodeFirst } from '../../scripts/other-node.ts';

const PACK = join(import.meta.dirname, '../../scripts/pack-program.ts');

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function run(command: string, args: readonly string[], cwd: string, env = process.env): Ended {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  return { status, stdout, stderr };
}

/** `npm run pack -- kit FOLDER`, called in `cwd`. */
export const packKit = (cwd: string, folder: string): Ended =>
  run(process.execPath, [PACK, 'kit', folder], cwd, { ...process.env, INIT_CWD: cwd });

/** Packs the kit and installs its archive in an empty project, without a registry. Returns the folder of the project. */
export async function installKit(cleanup: Cleanup): Promise<string> {
  const folder = await tempDir(cleanup);
  const packed = packKit(folder, 'kit');
  if (packed.status !== 0) throw new Error(packed.stderr);
  const project = join(folder, 'project');
  await mkdir(project);
  await writeFile(join(project, 'package.json'), '{ "private": true }\n');
  const archive = join(folder, 'kit/footbridge-kit-0.1.0.tgz');
  // An empty cache: nothing that another run fetched is available.
  const env = { ...withNodeFirst(process.execPath), npm_config_cache: join(folder, 'cache') };
  const installed = run('npm', ['install', '--offline', '--no-audit', '--no-fund', archive], project, env);
  if (installed.status !== 0) throw new Error(installed.stderr);
  return project;
}
