// A copy of the repository in which everything runs on a given Node: that Node comes from npm, and the copy has the
// production dependencies only, without the packaged Node. The tools of the tests come from the checkout around it.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

import { isAtLeast, minimumNode, nodePackage } from '@footbridge/runtime/choose-node.js';

export interface OtherNode {
  readonly node: string;
  readonly version: string;
  /** The copy of the repository. */
  readonly root: string;
}

/** Returns the problem when that Node does not exist or is too old. */
export function prepareOtherNode(checkout: string, wanted: string): OtherNode | { problem: string } {
  const folder = join(checkout, '.cache', `node-${wanted}`);
  const fetched = fetchNode(folder, wanted);
  if ('problem' in fetched) return fetched;
  const { node } = fetched;
  const version = output(node, ['-p', 'process.versions.node']);
  const minimum = minimumNode(new URL('../package.json', import.meta.url));
  if (!isAtLeast(version, minimum))
    return { problem: `Footbridge needs Node ${minimum} or newer, and this is ${version}` };
  const root = join(folder, 'checkout');
  console.log(`Node ${version}, production dependencies only, in ${root}`);
  copySources(checkout, root);
  installProduction(root, node);
  const used = output(node, [join(root, 'scripts/run.mjs'), '-p', 'process.versions.node']);
  if (used !== version) throw new Error(`programs would run on Node ${used} instead of ${version}`);
  return { node, version, root };
}

/** Returns the path of that Node, which is installed in the folder unless it is there. */
export function fetchNode(folder: string, wanted: string): { node: string } | { problem: string } {
  const name = nodePackage(process.platform, process.arch);
  if (name === undefined)
    return { problem: `no npm package has Node for ${process.platform} on ${process.arch}` };
  const node = join(folder, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (existsSync(node) || installNode(folder, `${name}@${wanted}`)) return { node };
  return {
    problem: `npm could not install ${name}@${wanted}; npm view ${name} versions lists the available ones`,
  };
}

/** The environment in which `node` is the first Node on the PATH. */
export function withNodeFirst(node: string): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env['PATH'] ?? ''}` };
}

function installNode(folder: string, specifier: string): boolean {
  mkdirSync(folder, { recursive: true });
  // Without a manifest of its own, npm would install into the checkout around it.
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  try {
    npm(folder, process.env, ['install', '--no-save', specifier]);
    return true;
  } catch {
    return false; // npm has printed the reason.
  }
}

/** All sources as they are now, committed or not; the installed dependencies stay. */
export function copySources(from: string, to: string): void {
  const GENERATED = new Set(['node_modules', '.cache', '.git', 'artefacts', 'coverage', 'data', 'dist']);
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(to))
    if (name !== 'node_modules') rmSync(join(to, name), { recursive: true, force: true });
  for (const name of readdirSync(from)) {
    if (GENERATED.has(name)) continue;
    cpSync(join(from, name), join(to, name), {
      recursive: true,
      filter: (path) => !/[/\\](node_modules|dist)$/.test(path),
    });
  }
}

function installProduction(root: string, node: string): void {
  const stamp = join(root, 'node_modules', '.installed-from');
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  npm(root, withNodeFirst(node), ['ci', '--omit=dev', '--omit=optional']);
  writeFileSync(stamp, lock);
}

function npm(cwd: string, env: NodeJS.ProcessEnv, args: string[]): void {
  execFileSync('npm', args, { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] });
}

function output(program: string, args: string[]): string {
  return execFileSync(program, args, { encoding: 'utf8' }).trim();
}
