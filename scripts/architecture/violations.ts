import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';

import { PACKAGES, SERVICE } from './rules.ts';
import type { Part } from './rules.ts';

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s(?:[^'"`;]*?\sfrom\s)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g;
const IS_TEST = /\.(test|contract|bench)\.tsx?$|(^|\/)(test|fixtures)\//;

/** Every import that breaks the table, as `file → target: why`. */
export function violations(root: string): string[] {
  const found: string[] = [];
  for (const [name, allowed] of Object.entries(PACKAGES)) {
    const src = join(root, 'packages', name, 'src');
    for (const file of sources(src)) {
      const path = relative(src, file).split(sep).join('/');
      if (IS_TEST.test(path)) continue;
      for (const target of imports(file)) {
        const why = target.startsWith('.')
          ? insidePackage(name, path, posix.normalize(posix.join(posix.dirname(path), target)))
          : betweenPackages(name, allowed, target);
        if (why !== undefined) found.push(`packages/${name}/src/${path} → ${target}: ${why}`);
      }
    }
  }
  return found;
}

function betweenPackages(from: string, allowed: readonly string[], target: string): string | undefined {
  const [, to] = /^@footbridge\/([^/]+)/.exec(target) ?? [];
  if (to === undefined || to === from || allowed.includes(to)) return undefined;
  return `${from} must not import ${to}`;
}

function insidePackage(pkg: string, from: string, to: string): string | undefined {
  if (to.startsWith('..')) {
    return to === '../package.json' ? undefined : 'leaves the package; import other packages by name';
  }
  if (pkg !== 'service') return undefined;
  const source = partOf(from);
  const target = partOf(to);
  if (source === undefined || target === undefined)
    return `no part of the table covers ${source === undefined ? from : to}`;
  if (source.mayImport.includes('*')) return target.name === 'main' ? 'nothing imports main' : undefined;
  if (sameGroup(source, target, from, to)) return engineNamed(from, to);
  if (source.separate !== undefined && family(source) === family(target))
    return `${source.name} of different kinds must not meet`;
  return source.mayImport.includes(target.name) ? undefined : `${source.name} must not import ${target.name}`;
}

/** Only the composition root names an engine; its own folder's other engines may build on it. */
function engineNamed(from: string, to: string): string | undefined {
  const isEngine = partOf(to)?.name === 'engines';
  return isEngine && partOf(from)?.name !== 'engines' ? 'only bridge names an engine' : undefined;
}

const partOf = (path: string): Part | undefined => SERVICE.find((part) => part.files.test(path));
const family = (part: Part) => (part.name === 'engines' ? 'ports' : part.name);

function sameGroup(source: Part, target: Part, from: string, to: string): boolean {
  if (family(source) !== family(target)) return false;
  if (source.separate === undefined) return true;
  return source.separate.exec(from)?.[1] === source.separate.exec(to)?.[1];
}

function imports(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? '');
}

function sources(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name));
  } catch {
    return [];
  }
}
