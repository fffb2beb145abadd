import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const WORKFLOWS = readdirSync(join(ROOT, '.github/workflows')).map((name) => `.github/workflows/${name}`);

describe('the repository', () => {
  it.each(WORKFLOWS)('%s pins every action to a commit and names its version', (path) => {
    const actions = [...read(path).matchAll(/\buses: (.+)$/gm)].map(([, action = '']) => action);
    expect(actions.length).toBeGreaterThan(0);
    for (const action of actions) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it.each(WORKFLOWS)('%s may only read the contents, and a new push cancels it', (path) => {
    expect(read(path)).toMatch(/^permissions:\n {2}contents: read\n\n/m);
    expect(read(path)).toMatch(/^concurrency:\n {2}group: .+\n {2}cancel-in-progress: true\n/m);
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
