import { afterEach, describe, expect, it, vi } from 'vitest';
import { available } from './availability.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const missing = () => Promise.reject(new Error('not on this machine'));

describe('a server that is missing', () => {
  it('is said once, visibly, and skips', async () => {
    vi.stubEnv('CI', 'false');
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    expect(await available('flux-capacitor', missing)).toBe(false);
    expect(await available('flux-capacitor', missing)).toBe(false);
    expect(said.mock.calls).toEqual([['skipped: no flux-capacitor\n']]);
  });

  it('fails where CI is true', async () => {
    vi.stubEnv('CI', 'true');
    await expect(available('flux-capacitor', missing)).rejects.toThrow(
      'No flux-capacitor, and CI demands it.',
    );
  });
});

it('a server that is there runs, in CI too', async () => {
  vi.stubEnv('CI', 'true');
  expect(await available('x', () => Promise.resolve('/usr/bin/x'))).toBe(true);
});
