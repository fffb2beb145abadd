import { execFile } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, posix, relative, sep } from 'node:path';
import { promisify } from 'node:util';

import { importsOf } from './violations.ts';

const SOURCE = 'packages/service/src';
const COMPOSE = 'compose.ts';
/** What a file outside of a feature may import of it. The settings are read, checked and documented without starting anything. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  [COMPOSE]: ['feature.ts', 'settings.ts'],
  'config.ts': ['settings.ts'],
  'config.test.ts': ['settings.ts'],
};
const run = promisify(execFile);

export function featuresOf(root: string): string[] {
  return globSync('features/*/', { cwd: join(root, SOURCE) })
    .map((folder) => basename(folder))
    .sort();
}

/** Returns every import, tests included, by which something outside of a feature needs its folder. */
export function importsOfFeatures(root: string): string[] {
  const folder = join(root, SOURCE);
  return globSync('**/*.ts', { cwd: folder }).flatMap((name) => {
    const path = name.split(sep).join('/');
    const own = featureOf(path);
    return importsOf(join(folder, path)).flatMap((target) => {
      if (!target.startsWith('.')) return [];
      const to = posix.join(posix.dirname(path), target);
      const feature = featureOf(to);
      if (feature === undefined) return [];
      const file = to.slice(`features/${feature}/`.length);
      // The settings stay when the rest of the folder is removed.
      const isNeeded =
        feature === own ? path === `features/${own}/settings.ts` : ALLOWED[path]?.includes(file) !== true;
      return isNeeded ? [`${path} → ${to}`] : [];
    });
  });
}

const featureOf = (path: string): string | undefined => /^features\/([^/]+)\//.exec(path)?.[1];

/** Returns the composition root without the import and the start of these features. */
export function composeWithout(compose: string, features: readonly string[]): string {
  let rest = compose;
  for (const feature of features) {
    const [line, name] =
      new RegExp(`^import \\{ (\\w+) \\} from '\\./features/${feature}/feature\\.ts';\n`, 'm').exec(rest) ??
      [];
    const [start] = new RegExp(`^  await ${name}\\.start\\([^]*?\\);\n`, 'm').exec(rest) ?? [];
    if (line === undefined || start === undefined)
      throw new Error(`${COMPOSE} must import ${feature}/feature.ts and await its start`);
    rest = rest.replace(line, '').replace(start, '');
  }
  return rest;
}

/**
 * Type-checks composition roots in one program. Resolves with the errors. `without` are features whose files are left out of the program,
 * with the tables that they declare.
 */
export async function typeErrors(
  root: string,
  composes: Readonly<Record<string, string>>,
  without: readonly string[] = [],
): Promise<string[]> {
  mkdirSync(join(root, '.cache'), { recursive: true });
  const folder = mkdtempSync(join(root, '.cache/removal-'));
  try {
    const source = relative(folder, join(root, SOURCE)).split(sep).join('/');
    for (const [name, text] of Object.entries(composes))
      writeFileSync(join(folder, `${name}.ts`), text.replaceAll(/(from '|import\(')\.\//g, `$1${source}/`));
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: '../../tsconfig.json',
        // The composition root reaches all that is not left out.
        include: ['*.ts', `${source}/**/*${without.length === 0 ? '.d' : ''}.ts`],
        exclude: [
          `${source}/**/*.test.ts`,
          // They import the composition root itself.
          ...[COMPOSE, 'main.ts'].map((file) => `${source}/${file}`),
          ...without.map((feature) => `${source}/features/${feature}/**`),
        ],
      }),
    );
    const { stdout } = await run(
      process.execPath,
      [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder],
      { cwd: folder },
    ).catch((error: { stdout: string }) => error);
    return stdout.split('\n').filter((line) => line.includes('error TS'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const readCompose = (root: string): string => readFileSync(join(root, SOURCE, COMPOSE), 'utf8');
