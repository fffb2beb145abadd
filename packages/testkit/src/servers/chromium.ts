import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import type { LaunchOptions } from 'playwright-core';

import { available } from './availability.ts';
import { checkBrowser } from './browser-check.ts';
import { cached } from './cache.ts';
import { unpackProgram } from './debian-program.ts';
import type { Program } from './debian-program.ts';
import { findOnce } from './findings.ts';
import type { Finder } from './findings.ts';
import { findOnPath } from './on-path.ts';
import { firstThatWorks } from './sources.ts';
import type { Source } from './sources.ts';

const run = promisify(execFile);

/** `describe.skipIf(!(await hasChromium()))` */
export function hasChromium(): Promise<boolean> {
  return available(CHROMIUM);
}

/** For `chromium.launch()` of playwright-core. */
export async function findChromium(): Promise<LaunchOptions> {
  return launchOptions(await findOnce(CHROMIUM));
}

/**
 * Arguments of Playwright, and site isolation, which headless builds leave off. Those of the npm package are not used:
 * they turn off the same-origin policy, and `--single-process` ends the browser with its first context.
 */
export async function launchOptions({ path, env }: Program): Promise<LaunchOptions> {
  return {
    executablePath: path,
    args: ['--site-per-process'],
    chromiumSandbox: await canSandbox(),
    env: { ...process.env, ...env },
  };
}

/** Chromium refuses to sandbox root, and needs user namespaces for others, which many containers do not allow. */
async function canSandbox(): Promise<boolean> {
  if (process.getuid?.() === 0) return false;
  if (process.platform !== 'linux') return true;
  return run('unshare', ['--map-root-user', '--net', 'true']).then(
    () => true,
    () => false,
  );
}

const SOURCES: readonly Source<Program>[] = [
  { name: 'CHROMIUM_PATH', find: fromEnvironment },
  { name: 'the PATH', find: onPath },
  { name: 'the npm package', find: fromNpm },
  { name: 'Debian packages', find: () => unpackProgram(DEBIAN) },
];

export const CHROMIUM: Finder<Program> = {
  name: 'chromium',
  find: () => firstThatWorks('chromium', SOURCES, (program) => checkBrowser(program)),
};

// Few libraries, compared with the whole browser; the files that both share are in chromium-common.
const DEBIAN = {
  packages: ['chromium-headless-shell', 'chromium-common'],
  path: 'usr/lib/chromium/chromium-headless-shell',
} as const;

function fromEnvironment(): Promise<Program | undefined> {
  const path = process.env['CHROMIUM_PATH'];
  return Promise.resolve(path ? { path, env: {} } : undefined);
}

async function onPath(): Promise<Program | undefined> {
  for (const name of ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']) {
    const path = await findOnPath(name);
    if (path !== undefined) return { path, env: {} };
  }
  return undefined;
}

/** The Chromium inside the npm package exists for one platform only. */
async function fromNpm(): Promise<Program | undefined> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const main = createRequire(import.meta.url).resolve('@sparticuz/chromium');
  const manifest = await readFile(join(dirname(main), '../package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  const dir = await cached(`chromium-npm-${version}`, async (TMPDIR) => {
    const unpack = join(import.meta.dirname, 'unpack-npm-chromium.ts');
    await run(process.execPath, [unpack], { env: { ...process.env, TMPDIR } });
  });
  return { path: join(dir, 'chromium'), env: {} };
}
