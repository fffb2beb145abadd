// Starts a TypeScript entry point on a Node that can run it. Plain JavaScript for old Nodes: on Node 20 with npm 10 this
// file is what runs first, and it hands over to the Node that came with `npm ci`.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import { chooseNode, minimumNode, nodePackage, usesMusl } from './choose-node.mjs';

const COMPILED = fileURLToPath(new URL('../node_modules/.cache/footbridge/compiled', import.meta.url));

/** The packaged Node, or undefined where none was installed (containers use `--omit=optional`). */
function packagedNode() {
  const name = nodePackage(process.platform, process.arch);
  // Only beside this file: a checkout inside another one must not run on the other's Node.
  const folder = new URL(`../node_modules/${name}/`, import.meta.url);
  const path = fileURLToPath(new URL(process.platform === 'win32' ? 'bin/node.exe' : 'bin/node', folder));
  if (name === undefined || !existsSync(path)) return undefined;
  return { path, version: JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')).version };
}

/** npm puts a shell between itself and us, and that shell keeps a signal for itself: when it is gone, this must end too. */
function endWithNpm(child) {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && child.kill('SIGTERM'), 500).unref();
}

/** Runs `entry` with `args` on the Node that `chooseNode` names, and ends as that process ends. */
export function launch(entry, args) {
  const choice = chooseNode({
    running: { path: process.execPath, version: process.versions.node },
    packaged: packagedNode(),
    minimum: minimumNode(new URL('../package.json', import.meta.url)),
    musl: process.platform === 'linux' && usesMusl(),
  });
  if ('problem' in choice) {
    console.error(choice.problem);
    process.exit(3);
  }
  const node = choice.path;
  // Tools that a script starts (vitest, oxlint …) find this Node first too.
  const env = {
    ...process.env,
    PATH: `${dirname(node)}${process.platform === 'win32' ? ';' : ':'}${process.env.PATH ?? ''}`,
    // Programs start in half the time when V8 need not compile what it compiled before. Where nothing can be written, Node goes without.
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? COMPILED,
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
