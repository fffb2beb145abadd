import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { createCleanup } from '../cleanup.ts';
import { available } from './availability.ts';
import { shareFindings } from './findings.ts';

const cleanup = createCleanup();
const missing = {
  name: 'flux-capacitor',
  find: () => Promise.reject(new Error('the PATH has none; Debian packages: no apt-get on this machine')),
};

beforeEach(async () => {
  vi.stubEnv('FOOTBRIDGE_FINDINGS', undefined);
  cleanup.add(await shareFindings([missing]));
});
afterEach(async () => {
  await cleanup.run();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

describe('a server that is missing', () => {
  const line = 'no flux-capacitor: the PATH has none; Debian packages: no apt-get on this machine';

  it('is reported in one line by the first suite, and skips them all', async () => {
    vi.stubEnv('CI', 'false');
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const suites = await Promise.all([available(missing), available(missing)]);
    expect([...suites, await available(missing)]).toEqual([false, false, false]);
    expect(written.mock.calls).toEqual([[`skipped: ${line}\n`]]);
  });

  it('is one failure when CI is true, however many suites need it', async () => {
    vi.stubEnv('CI', 'true');
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const suites = await Promise.allSettled([available(missing), available(missing), available(missing)]);
    const failures = suites.filter((suite) => suite.status === 'rejected');
    expect(failures.map(({ reason }) => String(reason))).toEqual([`Error: CI is true, and there is ${line}`]);
    expect(suites.filter((suite) => suite.status === 'fulfilled' && !suite.value)).toHaveLength(2);
    expect(written).not.toHaveBeenCalled();
  });
});

it('a suite runs when its server works, in CI too', async () => {
  vi.stubEnv('CI', 'true');
  const works = { name: 'x', find: () => Promise.resolve('/usr/bin/x') };
  expect(await available(works)).toBe(true);
});
