import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('.', import.meta.url));

/** `edges/link/session.ts` belongs to the edge `edges/link`, `queue.ts` to itself. */
function roomOf(path: string): string {
  const parts = path.split('/');
  return parts.length === 1 ? path : parts.slice(0, 2).join('/').replace(/\.ts$/, '');
}

/** Undefined: allowed. */
function breach(from: string, to: string): string | undefined {
  const [a, b] = [roomOf(from), roomOf(to)];
  if (a === b) return undefined;
  const [kind, target] = [a.split('/')[0], b.split('/')[0]];
  if (to.includes('messages-simulated') && from !== 'agent.ts')
    return 'only the composition root names an engine';
  if (
    to.includes('journal-sqlite') &&
    !['agent.ts', 'commands/status.ts', 'commands/doctor.ts'].includes(from)
  ) {
    return 'only the composition root names an engine';
  }
  if (kind === 'edges' && target === 'edges') return 'an edge never knows another edge';
  if (kind === 'flows' && (target === 'edges' || target === 'flows'))
    return 'a flow knows no edge and no other flow';
  if (kind === 'ports' && (target === 'edges' || target === 'flows' || target === 'ports'))
    return 'a port knows no other room';
  const foundation = ['clock.ts', 'log.ts', 'lifecycle.ts', 'failpoint.ts'];
  if (foundation.includes(from)) return 'the foundation knows nothing of ours';
  if (['agent.ts', 'main.ts'].includes(to) && !['main.ts'].includes(from) && kind !== 'commands') {
    return 'nobody below knows the composition root';
  }
  return undefined;
}

function importsOf(path: string): string[] {
  const source = readFileSync(join(SRC, path), 'utf8');
  const found = source.matchAll(/from '(\.[^']+)'/g);
  return [...found].map((match) => relative(SRC, join(SRC, path, '..', match[1] ?? '')));
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.endsWith('.contract.ts'),
);

describe('the rooms of the house', () => {
  it('know only those they may know', () => {
    expect(files.length).toBeGreaterThan(50);
    const breaches = files.flatMap((from) =>
      importsOf(from).flatMap((to) => {
        const why = breach(from, to);
        return why === undefined ? [] : [`${from} → ${to}: ${why}`];
      }),
    );
    expect(breaches).toEqual([]);
  });

  it.each([
    ['edges/assets.ts', 'edges/link/link.ts'],
    ['flows/inbound/receive-messages.ts', 'edges/assets.ts'],
    ['flows/inbound/receive-messages.ts', 'flows/outbound/tools.ts'],
    ['flows/outbound/send-text.ts', 'ports/messages/messages-simulated.ts'],
    ['ports/journal/journal.ts', 'ports/messages/messages.ts'],
    ['clock.ts', 'log.ts'],
    ['queue.ts', 'agent.ts'],
  ])('%s may not know %s', (from, to) => {
    expect(breach(from, to)).toBeDefined();
  });
});
