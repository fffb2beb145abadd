// Bundles each program with all the modules that it imports, so that it starts in a third of the time: `npm run bundle`.
// Runs after `npm ci`. `packages/runtime/src/bundle.js` decides when a bundle is used.
import { rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';

import { bundlePath, fileListPath } from '@footbridge/runtime/bundle.js';
import type { BundledFile } from '@footbridge/runtime/bundle.js';
import type { Plugin } from 'rolldown';

const ROOT = join(import.meta.dirname, '..');
const PROGRAMS = ['service', 'cli', 'agent'].map((name) => `packages/${name}/src/main.ts`);
/** Loads its native code from its own folder. */
const NOT_BUNDLED = ['sodium-native'];
const OWN = /^(.*[\\/]packages[\\/][\w-]+[\\/])src[\\/]/;
/** npm rewrites it whenever it changes a dependency. */
const INSTALLED = join(ROOT, 'node_modules/.package-lock.json');

/** Nothing is read so soon: loading the bundler takes longer. Not 0, because the times of files are less precise than the clock. */
const UNREAD_MS = 10;

/** Modules find other files by their own path, which must remain that of the source. */
function sourcePaths(folder: string): Plugin {
  return {
    name: 'source-paths',
    transform: {
      filter: { id: OWN, code: 'import.meta.' },
      handler(code, id) {
        const path = relative(folder, id).replaceAll(sep, '/');
        return code
          .replaceAll('import.meta.url', `new URL(${JSON.stringify(path)}, import.meta.url).href`)
          .replaceAll(
            'import.meta.dirname',
            `(import.meta.dirname + ${JSON.stringify(`/${dirname(path)}`)})`,
          );
      },
    },
  };
}

const BUILTIN_IMPORT = /^import (?:([\w$]+)(?:, )?)?(?:\{ (.*) \})? ?from "(node:[\w/]+)";$/;

/**
 * Replaces imports of built-in modules with calls. An `import` reads every export of the module, including getters that load further
 * modules: `node:util` loads worker threads.
 */
const builtinsByCall: Plugin = {
  name: 'builtins-by-call',
  renderChunk(code) {
    const lines = code.split('\n');
    const imports = lines.findIndex((line) => !line.startsWith('import '));
    return [...lines.slice(0, imports).map(byCall), ...lines.slice(imports)].join('\n');
  },
};

function byCall(line: string): string {
  const [found, whole, names, module] = BUILTIN_IMPORT.exec(line) ?? [];
  if (found === undefined) return line;
  const call = `= globalThis.process.getBuiltinModule("${module}");`;
  return [
    ...(whole === undefined || whole === 'process' ? [] : [`const ${whole} ${call}`]),
    ...(names === undefined ? [] : [`const { ${names.replaceAll(' as ', ': ')} } ${call}`]),
  ].join(' ');
}

/** Writes the bundle of a program, and then the list of its files, without which it is not used. */
export async function writeBundle(entry: string): Promise<void> {
  const startedAt = Date.now();
  const { rolldown } = await import('rolldown');
  const file = bundlePath(entry);
  const folder = dirname(file);
  await rm(folder, { recursive: true, force: true });
  const program = await rolldown({
    input: entry,
    platform: 'node',
    external: NOT_BUNDLED,
    plugins: [sourcePaths(folder), builtinsByCall],
  });
  const { output } = await program.write({ dir: folder, format: 'esm', keepNames: true });
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
  const files = await Promise.all(filesOf(modules).map((path) => bundledFile(folder, path)));
  // A file that changed in the meantime may have been read before or after the change.
  if (files.every(([, , mtimeMs]) => mtimeMs < startedAt + UNREAD_MS))
    await writeFile(fileListPath(file), JSON.stringify(files));
}

/** Returns our own modules, the package.json files that say where they are, and the list of installed packages. */
function filesOf(modules: readonly string[]): string[] {
  const own = modules.filter((id) => OWN.test(id));
  const packages = new Set(own.map((id) => `${OWN.exec(id)?.[1]}package.json`));
  return [...own, ...packages, INSTALLED];
}

async function bundledFile(folder: string, path: string): Promise<BundledFile> {
  const { size, mtimeMs } = await stat(path);
  return [relative(folder, path), size, mtimeMs];
}

async function writeAll(): Promise<void> {
  for (const program of PROGRAMS) await writeBundle(join(ROOT, program));
}

if (import.meta.main)
  await writeAll().catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    process.stdout.write('The programs are not bundled: that needs the development dependencies (npm ci).\n');
  });
