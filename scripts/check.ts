// All checks that do not need a running service: types, lint, format, dead code, architecture, generated documents, their code blocks and links, words, licenses.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { styleText } from 'node:util';

import { violations } from './architecture/violations.ts';
import { codeBlockReport } from './code-blocks.ts';
import { staleDocuments, writeDocuments } from './documents.ts';
import { wordsToAvoidIn } from './plain-english.ts';
import { siteFaults } from './site-faults.ts';
import { licenseFaults, readRuntimePackages } from './third-party-notices.ts';

const ROOT = join(import.meta.dirname, '..');

interface Verdict {
  readonly passed: boolean;
  /** Shown when the check failed. */
  readonly output: string;
  /** Printed whether the check passes or fails. */
  readonly summary?: string;
}

function tool(name: string, args: string[]): Promise<Verdict> {
  return new Promise((resolve) => {
    const program = join(ROOT, 'node_modules/.bin', name);
    execFile(program, args, { cwd: ROOT, maxBuffer: Infinity }, (error, stdout, stderr) => {
      const why = typeof error?.code === 'string' ? error.message : '';
      resolve({ passed: error === null, output: `${stdout}${stderr}${why}` });
    });
  });
}

function listed(faults: readonly string[]): Verdict {
  return { passed: faults.length === 0, output: faults.join('\n') };
}

/** Folders with browser code, which is type-checked separately. */
const BROWSER_CODE = ['demo', 'console', 'site'].map((name) => `packages/${name}/src/page`);

/** Modules of the programs for `osascript`, which knows ES2021 and nothing of Node. */
const JXA_CODE = 'packages/agent/src/ports/messages/macos/programs';

async function types(): Promise<Verdict> {
  let verdict = await tool('tsc', ['--noEmit', '-p', '.']);
  for (const folder of [...BROWSER_CODE, JXA_CODE])
    if (verdict.passed) verdict = await tool('tsc', ['--noEmit', '-p', folder]);
  return verdict;
}

const CHECKS: Record<string, () => Verdict | Promise<Verdict>> = {
  types,
  lint: () => tool('oxlint', ['--type-aware', '--quiet', '.']),
  format: () => tool('oxfmt', ['--check', '.']),
  'dead code': () => tool('knip', ['--no-progress']),
  architecture: () => listed(violations(ROOT)),
  documents: async () => listed(await staleDocuments(ROOT)),
  'code blocks': () => {
    const { summary, faults } = codeBlockReport(ROOT);
    return { ...listed(faults), summary };
  },
  site: () => listed(siteFaults(ROOT)),
  words: () => listed(wordsToAvoidIn(ROOT)),
  licenses: () => listed(licenseFaults(readRuntimePackages(ROOT))),
};

/** Runs all checks at once; each is reported when it ends. */
export async function check(): Promise<boolean> {
  const started = performance.now();
  const verdicts = await Promise.all(
    Object.entries(CHECKS).map(async ([name, run]) => {
      const { passed, output, summary = '' } = await run();
      if (!passed) console.error(output.trimEnd());
      const took = `${((performance.now() - started) / 1000).toFixed(1)} s`;
      console.log(
        `${passed ? styleText('green', '✔') : styleText('red', '✖')} ${name.padEnd(13)} ${took} ${summary}`.trimEnd(),
      );
      return passed;
    }),
  );
  return verdicts.every(Boolean);
}

if (import.meta.main) {
  if (process.argv.includes('--write')) {
    await writeDocuments(ROOT);
    const { passed, output } = await tool('oxfmt', ['.']);
    if (!passed) console.error(output.trimEnd());
  }
  process.exitCode = (await check()) ? 0 : 1;
}
