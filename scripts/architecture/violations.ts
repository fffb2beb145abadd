import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';

import { ENGINES, LAYERS, PACKAGES } from './rules.ts';
import type { Part } from './rules.ts';

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s(?:[^'"`;]*?\sfrom\s)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g;
const IS_SOURCE = /^src\/.*\.(?:tsx?|js)$|^bin\/.*\.m?js$/;
const IS_TEST = /\.(test|contract|fixture|bench)\.tsx?$|(^|\/)(test|fixtures)\//;

interface SourceFile {
  /** Relative to the package. */
  readonly path: string;
  readonly imports: readonly string[];
}

/** Returns every import that breaks a rule, as `file → target: reason`. */
export function violations(root: string): string[] {
  return readdirSync(join(root, 'packages')).flatMap((name) => {
    const allowed = PACKAGES[name];
    if (allowed === undefined) return [`packages/${name} is not in rules.ts; add it`];
    const folder = join(root, 'packages', name);
    const files = sourcesOf(folder);
    const declared = declaredPackages(folder);
    const broken = files.flatMap(({ path, imports }) =>
      imports.flatMap((target) => {
        const reason = target.startsWith('.')
          ? insidePackage(LAYERS[name], path, resolve(path, target))
          : (betweenPackages(name, { allowed, declared }, target) ?? engineOutside(name, path, target));
        return reason === undefined ? [] : [`${path} → ${target}: ${reason}`];
      }),
    );
    const shared = name === 'service' ? tablesInTwoFolders(folder, files) : [];
    return [...broken, ...shared, ...cycles(files)].map((line) => `packages/${name}/${line}`);
  });
}

function betweenPackages(
  from: string,
  { allowed, declared }: { allowed: readonly string[]; declared: readonly string[] | undefined },
  target: string,
): string | undefined {
  const [, path = '', to] = /^@footbridge\/(([^/]+).*)/.exec(target) ?? [];
  if (to === undefined) return undefined;
  if (to === from) return 'a package must import its own files by path';
  if (!allowed.some((one) => `${path}/`.startsWith(`${one}/`))) return `${from} must not import ${path}`;
  return declared?.includes(to) === false ? `package.json of ${from} must declare ${to}` : undefined;
}

function engineOutside(name: string, path: string, target: string): string | undefined {
  if (name !== 'service' || !ENGINES.in.test(inSrc(path)) || !ENGINES.packages.test(target)) return undefined;
  return ENGINES.names.test(posix.basename(path))
    ? undefined
    : `only a file that is named for its engine may import ${target}`;
}

const TABLE =
  /\b(?:selectFrom|insertInto|updateTable|deleteFrom|innerJoin|leftJoin)\(\s*'(\w+)(?: as \w+)?'/g;

/** The room, the feature, or another part of the service. */
const ownerOf = (path: string): string => /^(?:(?:relay|features)\/)?[^/]+/.exec(path)?.[0] ?? path;

/** Returns the tables that files of several folders name. A table belongs to one folder. */
function tablesInTwoFolders(folder: string, files: readonly SourceFile[]): string[] {
  const folders = new Map<string, Set<string>>();
  for (const { path } of files)
    for (const [, table = ''] of readFileSync(join(folder, path), 'utf8').matchAll(TABLE))
      folders.set(table, (folders.get(table) ?? new Set()).add(ownerOf(inSrc(path))));
  return [...folders]
    .filter(([, named]) => named.size > 1)
    .map(([table, named]) => `the table ${table} is named in ${[...named].sort().join(' and ')}`);
}

/** Returns the packages of ours that the manifest declares, or undefined without a manifest. */
function declaredPackages(folder: string): string[] | undefined {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return undefined;
  const { dependencies = {}, devDependencies = {} } = JSON.parse(readFileSync(file, 'utf8')) as Partial<
    Record<string, Readonly<Record<string, string>>>
  >;
  return Object.keys({ ...dependencies, ...devDependencies }).map((name) => name.replace('@footbridge/', ''));
}

function insidePackage(layers: readonly Part[] | undefined, from: string, to: string): string | undefined {
  if (to === 'package.json') return undefined;
  if (to.startsWith('..'))
    return 'a relative import must not leave the package; import other packages by name';
  // Older versions of Node, which cannot run TypeScript, load the files in bin.
  if (from.startsWith('bin/')) return to.startsWith('bin/') ? undefined : 'a bin must import only packages';
  if (!to.startsWith('src/')) return 'src must not import files outside of it';
  return layers === undefined ? undefined : betweenParts(layers, inSrc(from), inSrc(to));
}

function betweenParts(layers: readonly Part[], from: string, to: string): string | undefined {
  const source = partOf(layers, from);
  const target = partOf(layers, to);
  if (source === undefined || target === undefined)
    return `${source === undefined ? from : to} belongs to no part; add it to rules.ts`;
  if (source.mayImport.includes('*')) return target.name === 'main' ? 'main must not be imported' : undefined;
  if (sameGroup(source, target, from, to)) return engineImport(source, target);
  if (source.separate !== undefined && family(source) === family(target))
    return `different ${source.name} must not import each other`;
  return source.mayImport.includes(target.name) ? undefined : `${source.name} must not import ${target.name}`;
}

/** Only the composition root and the other engine files of the same port may import an engine. */
function engineImport(source: Part, target: Part): string | undefined {
  return target.name === 'engines' && source.name !== 'engines'
    ? 'only the composition root may import an engine'
    : undefined;
}

function partOf(layers: readonly Part[], path: string): Part | undefined {
  return layers.find((part) => part.files.test(path));
}

const family = (part: Part) => (part.name === 'engines' ? 'ports' : part.name);

function sameGroup(source: Part, target: Part, from: string, to: string): boolean {
  if (family(source) !== family(target)) return false;
  if (source.separate === undefined) return true;
  return source.separate.exec(from)?.[1] === source.separate.exec(to)?.[1];
}

/** Returns the import that closes each cycle, of values or of types. */
function cycles(files: readonly SourceFile[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const found: string[] = [];

  function visit(path: string, trail: readonly string[]): void {
    const file = byPath.get(path);
    if (file === undefined || done.has(path)) return;
    for (const target of file.imports.filter((name) => name.startsWith('.'))) {
      const next = resolve(path, target);
      const start = [...trail, path].indexOf(next);
      if (start === -1) visit(next, [...trail, path]);
      else found.push(`${path} → ${target}: import cycle ${[...trail, path, next].slice(start).join(' → ')}`);
    }
    done.add(path);
  }

  for (const { path } of files) visit(path, []);
  return found;
}

function resolve(from: string, target: string): string {
  return posix.normalize(posix.join(posix.dirname(from), target));
}

const inSrc = (path: string): string => path.replace(/^src\//, '');

function sourcesOf(folder: string): SourceFile[] {
  return filesIn(folder)
    .filter((path) => IS_SOURCE.test(path) && !IS_TEST.test(path))
    .map((path) => ({ path, imports: importsOf(join(folder, path)) }));
}

export function importsOf(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? '');
}

/** Returns the files in `src` and `bin`, relative to the package. */
function filesIn(folder: string): string[] {
  return ['src', 'bin'].flatMap((part) => {
    try {
      return readdirSync(join(folder, part), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'));
    } catch {
      return [];
    }
  });
}
