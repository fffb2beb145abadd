import { rm } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';

import { nameOf } from '@footbridge/testkit/bundles';
import { rolldown } from 'rolldown';
import type { Plugin } from 'rolldown';

const ROOT = join(import.meta.dirname, '..');

/** The programs that a run of the tests starts hundreds of times. */
const PROGRAMS = [
  'packages/service/src/main.ts',
  'packages/cli/src/main.ts',
  'packages/agent/src/main.ts',
  'packages/testkit/src/crm-main.ts',
  'packages/testkit/src/bluebubbles-main.ts',
  'packages/testkit/src/macos-main.ts',
  'packages/testkit/src/macos/applet-main.ts',
  'packages/testkit/src/macos/open-main.ts',
  'packages/testkit/src/macos/osascript-main.ts',
  'packages/testkit/src/macos/system-command-main.ts',
  'tests/agent/mac-agent-main.ts',
];

/** Bundles the programs into a folder inside the checkout, where they find the installed packages. */
export async function writeBundles(folder: string, programs: readonly string[] = PROGRAMS): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const build = await rolldown({
    input: Object.fromEntries(programs.map((main) => [nameOf(main), resolve(ROOT, main)])),
    platform: 'node',
    // Loads its native code from its own folder.
    external: ['sodium-native'],
    plugins: [sourcePaths(folder), builtinsByCall],
  });
  await build.write({ dir: folder, format: 'esm', keepNames: true });
}

/** Modules find other files by their own path, which must remain that of the source. */
function sourcePaths(folder: string): Plugin {
  return {
    name: 'source-paths',
    transform: {
      filter: { id: { exclude: /[\\/]node_modules[\\/]/ }, code: 'import.meta.' },
      handler(code, id) {
        const path = relative(folder, id).replaceAll('\\', '/');
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
