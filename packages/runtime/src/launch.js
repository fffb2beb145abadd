// Starts a program on a Node that can run it. Plain JavaScript: the first Node to read this file may be too old for more.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import { MODULES, compileCache, isCheckout } from './compile-cache.js';
import { chooseNode, minimumNode, nodePackage, usesMusl } from './choose-node.js';
import { ignoreDebuggerSignal } from './debugger-signal.js';

/** The exit code of the dynamic loader, after it named the missing library. */
const LOADER_FAILED = 127;
const LIBRARY_MISSING =
  'The Node that npm ci installed lacks a system library. On Debian or Ubuntu: apt-get install libatomic1. Or install a newer Node.';

/**
 * Runs `entry` with `args` on the Node that `chooseNode` selects. The program replaces this process, or runs in a child process whose exit
 * code or signal becomes that of this one. Exits with 3 when no Node can run it.
 * @param {string} entry
 * @param {readonly string[]} args
 */
export async function launch(entry, args) {
  ignoreDebuggerSignal();
  const choice = chooseNode({
    running: { path: process.execPath, version: process.versions.node },
    packaged: packagedNode(),
    minimum: minimumNode(new URL('../package.json', import.meta.url)),
    musl: process.platform === 'linux' && usesMusl(),
    checkout: isCheckout,
  });
  if ('problem' in choice) {
    process.stderr.write(`${choice.problem}\n`);
    process.exit(3);
  }
  const env = {
    ...process.env,
    // Tools that a script starts (vitest, oxlint …) find the same Node.
    PATH: `${dirname(choice.path)}${delimiter}${process.env['PATH'] ?? ''}`,
    ...compileCache(),
  };
  const isUnderNpm = process.env['npm_lifecycle_event'] !== undefined;
  const isThisNode = choice.path === process.execPath;
  const command = ['--disable-warning=ExperimentalWarning', '--disable-sigusr1', entry, ...args];
  // The profiler's SIGPROF would end the program that replaces this process.
  const isProfiled = process.env['NODE_OPTIONS']?.includes('--cpu-prof') ?? false;
  // Saves the memory of a second process. Only for the Node that is running: if a different one cannot start, this process reports why.
  if (isThisNode && !isUnderNpm && !isProfiled && process.platform !== 'win32')
    process.execve?.(choice.path, [choice.path, ...command], env);
  // Installed before the program starts: a signal during the start would end this process and leave the program running.
  // The terminal sends SIGINT to the whole process group. Forwarding it would count as a second, forced interrupt.
  process.on('SIGINT', () => {
    if (!process.stdin.isTTY) child.kill('SIGINT');
  });
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
  const child = spawn(choice.path, command, { stdio: 'inherit', env });
  if (isUnderNpm) endWithNpm(() => child.kill('SIGTERM'));
  child.on('error', (error) => {
    process.stderr.write(`${choice.path} could not be started: ${error.message}\n`);
    process.exit(70);
  });
  child.on('exit', (code, signal) => {
    if (code === LOADER_FAILED && choice.path !== process.execPath)
      process.stderr.write(`${LIBRARY_MISSING}\n`);
    if (signal === null) process.exit(code ?? 70);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/**
 * Returns the Node that `npm ci` installed in this checkout, if any. Containers install without optional dependencies.
 * Other node_modules folders are ignored: a checkout inside another one must not run on the other's Node.
 */
function packagedNode() {
  const name = nodePackage(process.platform, process.arch);
  if (name === undefined) return undefined;
  const folder = new URL(`${name}/`, MODULES);
  const path = fileURLToPath(new URL(process.platform === 'win32' ? 'bin/node.exe' : 'bin/node', folder));
  if (!existsSync(path)) return undefined;
  /** @type {{ version: string }} */
  const { version } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'));
  return { path, version };
}

/**
 * npm runs scripts in a shell that does not forward signals: when that shell is gone, the program must end too.
 * @param {() => void} end
 */
function endWithNpm(end) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    end();
  }, 500).unref();
}
