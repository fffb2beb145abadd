import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { logEvents, operatePage } from './log-events.ts';

const ROOT = join(import.meta.dirname, '..');

describe('log events', () => {
  it('finds the event, level and message of a call', () => {
    const source =
      "this.#deps.log.warn({ event: 'grant.revoked', locationId }, 'grant revoked');\nlog.info({ event: `a.b` }, `c`);";
    expect(logEvents('file.ts', source)).toEqual([
      { event: 'grant.revoked', level: 'warn', message: 'grant revoked' },
      { event: 'a.b', level: 'info', message: 'c' },
    ]);
  });

  it('ignores other calls and events that are not literals', () => {
    expect(logEvents('file.ts', 'log.info({ event }, "x"); other.push({ event: "a.b" });')).toEqual([]);
  });

  it('are listed in the manual', () => {
    const page = operatePage(ROOT);
    expect(page).toBe(readFileSync(join(ROOT, 'docs/operate.md'), 'utf8'));
    for (const event of ['service.ready', 'webhook.failed', 'grant.revoked', 'mac.disconnected'])
      expect(page).toContain(`| \`${event}\` |`);
  });
});
