// Writes the kit as plain JavaScript with types into a folder of its own: copy it, `npm install` it or its archive, or
// serve it to a browser as it is. `npm run kit -- [folder]`, by default packages/kit/dist.
import { spawnSync } from 'node:child_process';
import { cp, glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';

import { ForeignFilesError, prepareOutputFolder } from './output-folder.ts';

const ROOT = join(import.meta.dirname, '..');
const KIT = join(ROOT, 'packages/kit');
const ENTRY = join(KIT, 'src/kit.ts');
const require = createRequire(import.meta.url);
/** TypeScript's compiler, to be run by Node. */
export const TSC = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
const IMPORT = /(\b(?:from|import)\s*\(?\s*['"])([^'"]+)(['"])/g;

export async function packKit(folder: string): Promise<void> {
  await prepareOutputFolder(folder);
  const compiled = join(folder, 'compiled');
  compile(await reachable(ENTRY), compiled);
  for await (const file of glob('{kit,protocol}/src/*.{js,d.ts}', { cwd: compiled })) {
    const source = join(ROOT, 'packages', file.replace(/\.(js|d\.ts)$/, '.ts'));
    const code = await readFile(join(compiled, file), 'utf8');
    const extension = file.endsWith('.js') ? '.js' : '.d.ts';
    await write(join(folder, placeOf(source, extension)), relinked(code, source));
  }
  await rm(compiled, { recursive: true });
  await write(join(folder, 'package.json'), await manifest());
  await cp(join(KIT, 'README.md'), join(folder, 'README.md'));
  await cp(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  await cp(join(KIT, 'vectors'), join(folder, 'vectors'), { recursive: true });
}

/** Returns the entry and everything that it imports, including types. Nothing else of the repository is packed. */
async function reachable(entry: string, found = new Set<string>()): Promise<Set<string>> {
  if (found.has(entry)) return found;
  found.add(entry);
  for (const [, , specifier = ''] of (await readFile(entry, 'utf8')).matchAll(IMPORT))
    await reachable(sourceOf(specifier, entry), found);
  return found;
}

function sourceOf(specifier: string, from: string): string {
  const [, part] = /^@footbridge\/protocol\/(.+)$/.exec(specifier) ?? [];
  if (part !== undefined) return join(ROOT, 'packages/protocol/src', `${part}.ts`);
  if (specifier.startsWith('.')) return resolve(dirname(from), specifier.replace(/\.js$/, '.ts'));
  throw new Error(`${relative(ROOT, from)} imports ${specifier}: the kit has no dependencies`);
}

function compile(files: Iterable<string>, folder: string): void {
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', '--types', 'node'];
  const output = [
    '--declaration',
    '--rewriteRelativeImportExtensions',
    '--target',
    'es2023',
    '--lib',
    'esnext',
  ];
  const places = ['--module', 'nodenext', '--rootDir', join(ROOT, 'packages'), '--outDir', folder];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [TSC, '--ignoreConfig', ...files, ...strict, ...output, ...places],
    { cwd: ROOT, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`the kit could not be compiled:\n${stdout}${stderr}`);
}

/** The kit's own files at the top, the protocol's in a folder beside them. */
function placeOf(source: string, extension: string): string {
  const name = basename(source, '.ts') + extension;
  return dirname(source) === dirname(ENTRY) ? name : join('protocol', name);
}

function relinked(code: string, source: string): string {
  return code.replaceAll(IMPORT, (_whole, before: string, specifier: string, after: string) => {
    const target = placeOf(sourceOf(specifier, source), '.js');
    const path = relative(dirname(placeOf(source, '.js')), target)
      .split('\\')
      .join('/');
    return `${before}${path.startsWith('.') ? path : `./${path}`}${after}`;
  });
}

async function manifest(): Promise<string> {
  const { name, version, license, type }: Record<string, unknown> = JSON.parse(
    await readFile(join(KIT, 'package.json'), 'utf8'),
  );
  const exports = { '.': { types: './kit.d.ts', default: './kit.js' }, './vectors/*': './vectors/*' };
  const files = ['*.js', '*.d.ts', 'protocol', 'vectors'];
  const rest = { sideEffects: false, engines: { node: '>=20' }, exports, files };
  return `${JSON.stringify({ name, version, license, type, ...rest }, null, 2)}\n`;
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

/** Writes the archive of a packed kit into its folder. Returns the name of the file. */
function makeArchive(folder: string): string {
  const { status, stdout, stderr } = spawnSync('npm', ['pack', '--json', '--pack-destination', '.'], {
    cwd: folder,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error(`npm pack failed:\n${stderr}`);
  const [archive]: { filename: string }[] = JSON.parse(stdout);
  if (archive === undefined) throw new Error('npm pack wrote no archive');
  return archive.filename;
}

const HELP = `Usage: npm run kit -- [FOLDER]

Writes the kit for CRM integrators into FOLDER (packages/kit/dist): plain
JavaScript with types, no dependencies, for Node 20 or newer and for browsers,
and an archive of it for npm install.

FOLDER must be new, empty, or written by an earlier run, which is replaced.`;

async function main(args: readonly string[]): Promise<number> {
  let folder: string;
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    });
    if (values.help === true) return (console.log(HELP), 0);
    if (positionals.length > 1) throw new TypeError('Only one folder can be named.');
    // npm runs scripts in the root of the repository; a relative path is relative to the caller's folder.
    folder = resolve(process.env['INIT_CWD'] ?? '.', positionals[0] ?? join(KIT, 'dist'));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)} See npm run kit -- --help.`);
    return 2;
  }
  try {
    await packKit(folder);
  } catch (error) {
    if (!(error instanceof ForeignFilesError)) throw error;
    console.error(error.message);
    return 1;
  }
  const archive = join(folder, makeArchive(folder));
  console.log(`The kit is in ${folder}. To install it: npm install ${archive}`);
  return 0;
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
