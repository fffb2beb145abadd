import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const WORKFLOWS = readdirSync(join(ROOT, '.github/workflows')).map((name) => `.github/workflows/${name}`);

const PUBLISH = '.github/workflows/publish.yml';

/** The permissions of each job beyond reading. Adding one must be deliberate. */
const RIGHTS: Readonly<Record<string, readonly string[]>> = {
  'publish.yml npm': ['id-token'],
  'publish.yml image': ['packages', 'id-token'],
  'publish.yml github': ['contents'],
};

interface Workflow {
  readonly concurrency: Readonly<Record<string, unknown>>;
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly permissions?: Readonly<Record<string, string>>;
        readonly 'timeout-minutes'?: number;
        readonly steps: readonly {
          readonly uses?: string;
          readonly run?: string;
          readonly with?: Readonly<Record<string, unknown>>;
        }[];
      }
    >
  >;
}

const workflowOf = (path: string): Workflow => parse(read(path));

describe('the repository', () => {
  it.each(WORKFLOWS)('%s pins every action to a commit and names its version', (path) => {
    const actions = [...read(path).matchAll(/\buses: (.+)$/gm)].map(([, action = '']) => action);
    expect(actions.length).toBeGreaterThan(0);
    for (const action of actions) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it.each(WORKFLOWS)('%s may only read the contents', (path) => {
    expect(read(path)).toMatch(/^permissions:\n {2}contents: read\n\n/m);
  });

  it.each(WORKFLOWS)('%s grants only the listed permissions, and limits the time of each job', (path) => {
    for (const [name, job] of Object.entries(workflowOf(path).jobs)) {
      const rights = Object.entries(job.permissions ?? {}).filter(([, access]) => access !== 'read');
      expect(rights.map(([right]) => right)).toEqual(RIGHTS[`${basename(path)} ${name}`] ?? []);
      expect(job['timeout-minutes']).toBeGreaterThan(0);
    }
  });

  it.each(WORKFLOWS)(
    '%s does not persist credentials after a checkout, and interpolates no input into scripts',
    (path) => {
      const steps = Object.values(workflowOf(path).jobs).flatMap((job) => job.steps);
      for (const { uses = '', run = '', with: options } of steps) {
        if (uses.startsWith('actions/checkout@')) expect(options?.['persist-credentials']).toBe(false);
        expect(run).not.toMatch(/\$\{\{\s*(?:github\.event|inputs|secrets|steps)/);
      }
    },
  );

  it.each(WORKFLOWS.filter((path) => path !== PUBLISH))('a new push cancels %s', (path) => {
    expect(read(path)).toMatch(/^concurrency:\n {2}group: .+\n {2}cancel-in-progress: true\n/m);
  });

  it('a release is not cancelled, and publishes what the dry run built, with provenance and a signature', () => {
    const { concurrency, jobs } = workflowOf(PUBLISH);
    expect(concurrency['cancel-in-progress']).toBe(false);
    const runs = Object.values(jobs).flatMap(({ steps }) => steps.map(({ run = '' }) => run));
    expect(runs).toContain('npm run release -- --dry-run');
    expect(runs).toContainEqual(expect.stringMatching(/npm publish .*--provenance/));
    expect(runs).toContainEqual(expect.stringMatching(/^cosign sign /));
  });

  it.each(WORKFLOWS)('%s runs npm scripts that exist', (path) => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = [...read(path).matchAll(/\bnpm (?:run ([\w:-]+)|(test|start))\b/g)].map(
      ([, script, short]) => script ?? short ?? '',
    );
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });

  it('the lock file names no registry', () => {
    expect(read('package-lock.json')).not.toMatch(/"resolved": "http/);
  });
});
