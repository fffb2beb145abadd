import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Child } from '../child.ts';
import { createCleanup } from '../cleanup.ts';
import { ask, findOnce, shareFindings } from './findings.ts';

const cleanup = createCleanup();
beforeEach(() => void vi.stubEnv('FOOTBRIDGE_FINDINGS', undefined));
afterEach(async () => {
  await cleanup.run();
  vi.unstubAllEnvs();
});

const counting = (name: string) => {
  const finder = {
    name,
    searches: 0,
    find: () => Promise.resolve({ path: `/usr/bin/${name}`, search: ++finder.searches }),
  };
  return finder;
};

describe('findings of a test run', () => {
  it('are searched for once, for this process and those it starts', async () => {
    const shared = counting('shared');
    cleanup.add(await shareFindings([shared]));
    const findings = join(import.meta.dirname, 'findings.ts');
    const script = `
      const { findOnce } = await import(${JSON.stringify(findings)});
      const find = () => Promise.reject(new Error('searched again'));
      console.log(JSON.stringify(await findOnce({ name: 'shared', find })));`;
    const child = new Child(process.execPath, ['--input-type=module', '--eval', script]);
    const found = { path: '/usr/bin/shared', search: 1 };
    expect(await findOnce(shared)).toEqual(found);
    await child.exited;
    expect(child.lines).toEqual([JSON.stringify(found)]);
    expect(shared.searches).toBe(1);
  });

  it('are not searched for before the first test file needs them', async () => {
    const idle = counting('idle');
    cleanup.add(await shareFindings([idle]));
    expect(idle.searches).toBe(0);
  });

  it('mark one caller as the first when a server is missing', async () => {
    const missing = { name: 'missing', find: () => Promise.reject(new Error('has none')) };
    cleanup.add(await shareFindings([missing]));
    const answers = await Promise.all([ask(missing), ask(missing), ask(missing)]);
    expect(answers.filter((answer) => 'isFirst' in answer && answer.isFirst)).toHaveLength(1);
    await expect(findOnce(missing)).rejects.toThrow('No missing: has none');
  });

  it('are kept by the process itself when no other process shares them', async () => {
    const alone = counting('alone');
    expect(await Promise.all([findOnce(alone), findOnce(alone)])).toMatchObject([
      { search: 1 },
      { search: 1 },
    ]);
    const unshared = counting('unshared');
    cleanup.add(await shareFindings([]));
    expect(await findOnce(unshared)).toMatchObject({ search: 1 });
  });

  it('belong to the outer run when runs are nested', async () => {
    const outer = counting('nested');
    cleanup.add(await shareFindings([outer]));
    const endInner = await shareFindings([counting('nested')]);
    await endInner();
    expect(await findOnce(outer)).toMatchObject({ search: 1 });
    expect(outer.searches).toBe(1);
  });
});
