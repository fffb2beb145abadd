// Writes the kit as plain JavaScript with types into a folder: copy it, `npm install` it or its archive, or
// serve it to browsers without a build step. `npm run pack -- kit [folder]`, by default dist/kit.
import { spawnSync } from 'node:child_process';
import { cp, glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';

import { prepareOutputFolder } from './output-folder.ts';

const ROOT = join(import.meta.dirname, '..');
const KIT = join(ROOT, 'packages/kit');
const ENTRY = join(KIT, 'src/kit.ts');
const require = createRequire(import.meta.url);
/** TypeScript's compiler, to be run by Node. */
export const TSC = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
const IMPORT = /(\b(?:from|import|require)\s*\(?\s*['"])([^'"]+)(['"])/g;
/** Folders that are copied into the archive. */
const COPIED = ['php', 'python', 'templates', 'vectors'];

/** The two module formats. Each has its own folder, whose package.json sets the format of its files and types. */
const FORMATS = [
  { folder: 'esm', type: 'module', options: ['--module', 'nodenext'] },
  { folder: 'cjs', type: 'commonjs', options: ['--module', 'commonjs', '--moduleResolution', 'bundler'] },
] as const;

export async function packKit(folder: string): Promise<void> {
  await prepareOutputFolder(folder);
  const sources = await reachable(ENTRY);
  for (const format of FORMATS) {
    const compiled = join(folder, 'compiled');
    compile(sources, compiled, format.options);
    for await (const file of glob('{kit,protocol}/src/*.{js,js.map,d.ts}', { cwd: compiled })) {
      const [, name = '', extension = ''] = /^(.*?)(\.js|\.js\.map|\.d\.ts)$/.exec(file) ?? [];
      const source = join(ROOT, 'packages', `${name}.ts`);
      const code = await readFile(join(compiled, file), 'utf8');
      const written = extension === '.js.map' ? mapOf(code, source) : relinked(code, source);
      await write(join(folder, format.folder, placeOf(source, extension)), written);
    }
    await rm(compiled, { recursive: true });
    await write(join(folder, format.folder, 'package.json'), `${JSON.stringify({ type: format.type })}\n`);
  }
  await write(join(folder, 'package.json'), await manifest());
  await cp(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  for (const file of ['README.md', ...COPIED])
    await cp(join(KIT, file), join(folder, file), { recursive: true });
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

function compile(files: Iterable<string>, folder: string, format: readonly string[]): void {
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', '--types', 'node'];
  const kinds = ['--declaration', '--sourceMap', '--inlineSources', '--rewriteRelativeImportExtensions'];
  const output = [
    '--target',
    'es2023',
    '--lib',
    'esnext',
    '--rootDir',
    join(ROOT, 'packages'),
    '--outDir',
    folder,
  ];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [TSC, '--ignoreConfig', ...files, ...strict, ...format, ...kinds, ...output],
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

/** The map contains the source. Its path points to where the source would be in a `src` folder of the package. */
function mapOf(map: string, source: string): string {
  const path = join('../src', placeOf(source, '.ts')).replaceAll('\\', '/');
  const depth = placeOf(source, '.ts').split(/[\\/]/).length - 1;
  return JSON.stringify({ ...JSON.parse(map), sources: ['../'.repeat(depth) + path] });
}

async function manifest(): Promise<string> {
  const { name, version, license, type }: Record<string, unknown> = JSON.parse(
    await readFile(join(KIT, 'package.json'), 'utf8'),
  );
  const [esm, cjs] = FORMATS.map((format) => ({
    types: `./${format.folder}/kit.d.ts`,
    default: `./${format.folder}/kit.js`,
  }));
  const exports = {
    '.': { import: esm, require: cjs },
    ...Object.fromEntries(COPIED.map((copied) => [`./${copied}/*`, `./${copied}/*`])),
    './package.json': './package.json',
  };
  const files = [...FORMATS.map((format) => format.folder), ...COPIED];
  const entry = { main: cjs?.default, types: cjs?.types, exports };
  const rest = { sideEffects: false, engines: { node: '>=20' }, ...entry, files };
  return `${JSON.stringify({ name, version, license, type, ...rest }, null, 2)}\n`;
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

/** Writes the archive of a packed kit into the folder of the kit. Returns the path of the archive. */
export function archiveKit(folder: string): string {
  const { status, stdout, stderr } = spawnSync('npm', ['pack', '--json', '--pack-destination', '.'], {
    cwd: folder,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error(`npm pack failed:\n${stderr}`);
  const [archive]: { filename: string }[] = JSON.parse(stdout);
  if (archive === undefined) throw new Error('npm pack wrote no archive');
  return join(folder, archive.filename);
}
