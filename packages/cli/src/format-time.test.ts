import { execFileSync } from 'node:child_process';

import { describe, expect, it } from 'vitest';

/** Node reads the time zone once, so each zone needs its own process. */
function localTimeIn(zone: string): string {
  const module = new URL('format-time.ts', import.meta.url).href;
  const program = `const { localTime } = await import('${module}'); console.log(localTime('2026-01-31T23:30:00Z'))`;
  return execFileSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program],
    { encoding: 'utf8', env: { ...process.env, TZ: zone } },
  ).trim();
}

describe('localTime', () => {
  it.each([
    ['UTC', '2026-01-31 23:30:00 UTC'],
    ['Europe/Berlin', '2026-02-01 00:30:00 +01:00'],
    ['America/St_Johns', '2026-01-31 20:00:00 -03:30'],
  ])('has the date, the time and the offset of %s', (zone, expected) => {
    expect(localTimeIn(zone)).toBe(expected);
  });
});
