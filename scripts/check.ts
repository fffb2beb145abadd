// Everything about the code that needs no running service: types, lint, format, dead code, architecture, generated documents, licenses.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { styleText } from 'node:util';

import { violations } from './architecture/violations.ts';
import { staleDocuments, writeDocuments } from './documents.ts';
import { licenseFaults, readRuntimePackages } from './third-party-notices.ts';

const ROOT = join(import.meta.dirname, '..');

function tool(name: string, args: string[]): boolean {
  return spawnSync('npx', ['--no-install', name, ...args], { cwd: ROOT, stdio: 'inherit' }).status === 0;
}

function listed(faults: readonly string[]): boolean {
  for (const fault of faults) console.error(fault);
  return faults.length === 0;
}

const CHECKS: Record<string, () => boolean | Promise<boolean>> = {
  types: () =>
    tool('tsc', ['--noEmit', '-p', '.']) && tool('tsc', ['--noEmit', '-p', 'packages/demo/src/page']),
  lint: () => tool('oxlint', ['--type-aware', '--quiet', '.']),
  format: () => tool('oxfmt', ['--check', '.']),
  'dead code': () => tool('knip', ['--no-progress']),
  architecture: () => listed(violations(ROOT)),
  documents: async () => listed(await staleDocuments(ROOT)),
  licenses: () => listed(licenseFaults(readRuntimePackages(ROOT))),
};

export async function check(): Promise<boolean> {
  let good = true;
  for (const [name, run] of Object.entries(CHECKS)) {
    const started = performance.now();
    const passed = await run();
    good &&= passed;
    const took = `${((performance.now() - started) / 1000).toFixed(1)} s`;
    console.log(`${passed ? styleText('green', '✔') : styleText('red', '✖')} ${name.padEnd(13)} ${took}`);
  }
  return good;
}

if (import.meta.main) {
  if (process.argv.includes('--write')) {
    await writeDocuments(ROOT);
    tool('oxfmt', ['.']);
  }
  process.exitCode = (await check()) ? 0 : 1;
}
