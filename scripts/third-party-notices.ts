// The licenses of everything that `npm ci --omit=dev` installs: an allowlist, and the page THIRD-PARTY-NOTICES.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface RuntimePackage {
  /** Its folder, relative to the root of the repository. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** Installed on some platforms only, so its files may be absent. */
  readonly optional: boolean;
}

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
  readonly optional?: boolean;
}

const ALLOWED = new Set(['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'MIT-0']);

/** libheif-js is an unmodified module in a folder of its own that users can replace, as the LGPL requires. */
const ALLOWED_FOR_ONE: Readonly<Record<string, string>> = { 'libheif-js': 'LGPL-3.0' };

const LICENSE_FILE = /^(licen[cs]e|copying|notice)(\.|$)/i;
const RULE = '-'.repeat(80);

/** The packages of the lock file that are installed in production, by name and version. Own workspaces are left out. */
export function runtimePackages(lock: Lock): RuntimePackage[] {
  return Object.entries(lock.packages)
    .filter(([path, { dev, link }]) => path.includes('node_modules/') && dev !== true && link !== true)
    .map(([path, { version = '', license = '', optional = false }]) => ({
      path,
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      license,
      optional,
    }))
    .sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version) || compare(a.path, b.path));
}

/** One line for each package whose license is not on the allowlist. */
export function licenseFaults(packages: readonly RuntimePackage[]): string[] {
  return packages
    .filter(({ name, license }) => !ALLOWED.has(license) && ALLOWED_FOR_ONE[name] !== license)
    .map(
      ({ name, version, license }) =>
        `${name} ${version} has the license "${license}", which is not on the allowlist`,
    );
}

/**
 * Renders the notices. `textOf` returns the license text of a package, or undefined when the package has none. It is not
 * called for optional packages: which of them are installed depends on the platform, and the page must not.
 */
export function renderNotices(
  packages: readonly RuntimePackage[],
  textOf: (path: string) => string | undefined,
): string {
  const texts = Map.groupBy(packages, ({ path, optional }) => (optional ? undefined : textOf(path)));
  const sections = [...texts].flatMap(([text, sharing]) =>
    text === undefined ? [] : [`${RULE}\n${distinctLabels(sharing).join('\n')}\n${RULE}\n\n${text}\n`],
  );
  const withoutText = distinctLabels(texts.get(undefined) ?? []);
  const list = packages.map((one) => `${label(one)} (${one.license})`);
  return [
    'THIRD-PARTY NOTICES\n\nThe packages that Footbridge installs at run time, with their licenses. Made from package-lock.json and the\nlicense files of the packages by `npm run check -- --write`.\n',
    `${[...new Set(list)].join('\n')}\n`,
    ...sections,
    `${RULE}\nWithout a license text here: the package contains none, or is installed on some platforms only.\n${withoutText.join('\n')}\n${RULE}\n`,
  ].join('\n');
}

export function readRuntimePackages(root: string): RuntimePackage[] {
  return runtimePackages(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock);
}

export function noticesPage(root: string): string {
  return renderNotices(readRuntimePackages(root), (path) => licenseText(folderOf(root, path)));
}

/** Searches parent folders as Node does: a checkout inside another one may use its packages. */
function folderOf(root: string, path: string): string {
  const folder = join(root, path);
  return existsSync(folder) || dirname(root) === root ? folder : folderOf(dirname(root), path);
}

function licenseText(folder: string): string | undefined {
  const files = readdirSync(folder)
    .filter((name) => LICENSE_FILE.test(name))
    .sort(compare);
  if (files.length === 0) return undefined;
  const texts = files.map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim());
  return texts.join('\n\n');
}

const label = ({ name, version }: RuntimePackage) => `${name} ${version}`;

const distinctLabels = (packages: readonly RuntimePackage[]) => [...new Set(packages.map(label))];

/** By code unit: the order must not depend on the locale of the machine. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
