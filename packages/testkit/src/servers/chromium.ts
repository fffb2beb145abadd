import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { promisify } from 'node:util';
import { available } from './availability.ts';
import { findOnPath } from './on-path.ts';

const run = promisify(execFile);

/** For `chromium.launch({ executablePath, args })` of playwright-core. */
export interface Browser {
  readonly executablePath: string;
  readonly args: string[];
}

// It calls home at every start unless told not to, and as root it needs to be told to do without its sandbox.
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];

/** `describe.skipIf(!(await hasChromium()))` */
export function hasChromium(): Promise<boolean> {
  return available('chromium', findChromium);
}

let sought: Promise<Browser> | undefined;

export function findChromium(): Promise<Browser> {
  sought ??= seek();
  return sought;
}

async function seek(): Promise<Browser> {
  const given = process.env['CHROMIUM_PATH'];
  if (given !== undefined) {
    await access(given);
    return { executablePath: given, args: ARGS };
  }
  const installed = await onPath();
  if (installed !== undefined) return { executablePath: installed, args: ARGS };
  return (await packaged()) ?? (await installFromDebian());
}

async function onPath(): Promise<string | undefined> {
  for (const name of ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']) {
    const path = await findOnPath(name);
    if (path !== undefined) return path;
  }
  return undefined;
}

/** The Chromium inside the npm package exists for one platform only. */
async function packaged(): Promise<Browser | undefined> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  try {
    const { default: chromium } = await import('@sparticuz/chromium');
    const executablePath = await chromium.executablePath();
    // A bare machine may lack libraries it needs: better to learn that now than in every test.
    await run(executablePath, ['--version']);
    return { executablePath, args: [...chromium.args, ...ARGS] };
  } catch {
    return undefined;
  }
}

async function installFromDebian(): Promise<Browser> {
  const apt = await findOnPath('apt-get');
  if (apt === undefined || process.getuid?.() !== 0) {
    throw new Error('No Chromium: set CHROMIUM_PATH, or put chromium on the PATH.');
  }
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const install = () => run(apt, ['install', '-y', '--no-install-recommends', 'chromium'], { env });
  await install().catch(async () => {
    await run(apt, ['update'], { env });
    await install();
  });
  const executablePath = await onPath();
  if (executablePath === undefined)
    throw new Error('Debian’s chromium was installed, but is not on the PATH.');
  return { executablePath, args: ARGS };
}
