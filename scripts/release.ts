// Builds the files of a release: `npm run release -- --dry-run [folder]`, by default dist/release. These are the archives of the
// three packages, checked against scripts/release/contents.json, a bill of materials for each, SHA256SUMS, notices and the changelog
// entry. Changes nothing in the repository and publishes nothing: pushing the tag that it prints starts .github/workflows/publish.yml.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';

import { ForeignFilesError, prepareOutputFolder } from './output-folder.ts';
import { packKit } from './pack-kit.ts';
import { packProgram } from './pack-program.ts';
import { contentFaults } from './release/archive-contents.ts';
import type { ArchiveRules } from './release/archive-contents.ts';
import { changelogEntry } from './release/changelog.ts';
import { repositoryOf } from './release/repository.ts';
import type { Repository } from './release/repository.ts';
import { sbomFaults } from './release/sbom.ts';

const ROOT = join(import.meta.dirname, '..');
const run = promisify(execFile);

/** Each package, with the function that writes its folder. */
const PACKAGES: Readonly<Record<string, (folder: string) => Promise<void>>> = {
  kit: packKit,
  footbridge: (folder) => packProgram('footbridge', folder),
  'footbridge-agent': (folder) => packProgram('agent', folder),
};

/** The release cannot be built. The message has one line per reason. */
class ReleaseError extends Error {
  override readonly name = 'ReleaseError';
}

/** Builds the release in `folder`. Resolves with the lines to print. */
export async function prepareRelease(
  folder: string,
  today: string,
  repository = repositoryOf(process.env),
): Promise<string[]> {
  await prepareOutputFolder(folder);
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const entry = changelogEntry(await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8'), version, today);
  const rules = JSON.parse(await readFile(join(ROOT, 'scripts/release/contents.json'), 'utf8')) as Record<
    string,
    ArchiveRules
  >;
  const building = join(folder, 'building');
  const archives: string[] = [];
  for (const [name, build] of Object.entries(PACKAGES)) {
    const source = join(building, name);
    await build(source);
    await nameRepository(source, repository);
    archives.push(await pack(name, source, folder, rules[name]));
    await writeSbom(source, join(folder, `${name}-${version}.cdx.json`));
  }
  await rm(building, { recursive: true });
  await cp(join(ROOT, 'THIRD-PARTY-NOTICES'), join(folder, 'THIRD-PARTY-NOTICES'));
  await writeFile(join(folder, 'release-notes.md'), `${entry.text}\n`);
  const published = [
    ...archives,
    ...Object.keys(PACKAGES).map((name) => `${name}-${version}.cdx.json`),
    'THIRD-PARTY-NOTICES',
  ];
  const sums = await Promise.all(
    published.map(async (file) => `${await sha256(join(folder, file))}  ${file}`),
  );
  await writeFile(join(folder, 'SHA256SUMS'), `${sums.join('\n')}\n`);
  return [
    ...sums,
    '',
    `Heading for CHANGELOG.md: ${entry.heading}`,
    `After that commit, push the tag: git tag --sign v${version} --message "Footbridge ${version}" && git push origin v${version}`,
  ];
}

async function nameRepository(source: string, repository: Repository | undefined): Promise<void> {
  if (repository === undefined) return;
  const file = join(source, 'package.json');
  const manifest = JSON.parse(await readFile(file, 'utf8')) as object;
  await writeFile(file, `${JSON.stringify({ ...manifest, repository }, null, 2)}\n`);
}

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

/** Creates the archive with npm and checks its contents against the list. Resolves with the file name. */
async function pack(
  name: string,
  source: string,
  folder: string,
  rules: ArchiveRules | undefined,
): Promise<string> {
  const { stdout } = await npm(source, 'pack', '--json', '--pack-destination', folder);
  const [packed] = JSON.parse(stdout) as Packed[];
  if (packed === undefined || rules === undefined)
    throw new ReleaseError(`scripts/release/contents.json has no list for ${name}`);
  const faults = contentFaults(packed.files, rules);
  if (faults.length > 0) throw new ReleaseError(faults.map((fault) => `${name}: ${fault}`).join('\n'));
  return packed.filename;
}

async function writeSbom(source: string, file: string): Promise<void> {
  const { stdout } = await npm(source, 'sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev');
  const faults = sbomFaults(JSON.parse(stdout));
  if (faults.length > 0)
    throw new ReleaseError(faults.map((fault) => `${relative(ROOT, file)}: ${fault}`).join('\n'));
  await writeFile(file, stdout);
}

const npm = (cwd: string, ...args: string[]) =>
  run('npm', [...args, '--loglevel', 'error'], { cwd, maxBuffer: 1024 * 1024 * 1024 });

const sha256 = async (file: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex');

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { 'dry-run': { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  if (!values['dry-run']) {
    console.error(
      'Releases are published by .github/workflows/publish.yml. To build one here: npm run release -- --dry-run',
    );
    return 2;
  }
  const folder = resolve(positionals[0] ?? join(ROOT, 'dist/release'));
  await mkdir(folder, { recursive: true });
  try {
    for (const line of await prepareRelease(folder, new Date().toISOString().slice(0, 10))) console.log(line);
    return 0;
  } catch (error) {
    if (!(error instanceof ReleaseError) && !(error instanceof ForeignFilesError)) throw error;
    console.error(error.message);
    return 1;
  }
}

if (import.meta.main) process.exitCode = await main();
