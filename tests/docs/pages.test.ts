import { join } from 'node:path';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { codeBlocks } from '../../scripts/code-blocks.ts';
import { startPageSession } from './page-session.ts';
import type { PageSession } from './page-session.ts';

const ROOT = join(import.meta.dirname, '../..');
/** A page starts several programs, on a machine that may be busy. */
const WITHIN_MS = 600_000;
const cleanup = createCleanup();
afterEach(() => cleanup.run());

const SERVICE = 'npm start';
const MAC = (location: string) => `npx footbridge license create "Test" --seats 2
npx footbridge-agent run --simulate --url http://127.0.0.1:4600 --license FB-… --location ${location} --data-dir ./test-mac`;
const KEY = `openssl genpkey -algorithm ed25519 -out key.pem
openssl pkey -in key.pem -pubout -out my-crm.pem
npx footbridge keys add --label my-crm --file my-crm.pem`;

/** Commands for what the reader of a page already has from an earlier page or step. */
const BEFORE: Readonly<Record<string, readonly string[]>> = {
  'docs/agent.md': [
    SERVICE,
    'npx footbridge license create "Test" --seats 2',
    'npx footbridge location assign LOCATION Test',
    'npx footbridge device pair LOCATION',
  ],
  'docs/crm.md': [SERVICE, MAC('loc1')],
  'docs/highlevel.md': [SERVICE],
  'docs/macs.md': [SERVICE],
  'docs/observe.md': [
    'mkdir -p deploy/prometheus && cp "$ROOT/deploy/prometheus/alerts.yml" deploy/prometheus/',
  ],
  'docs/operate.md': [SERVICE, MAC('LOCATION'), 'echo +15555550199 > list.csv'],
  'docs/recipes.md': [SERVICE, MAC('LOCATION'), KEY],
};

/** Conditions that must hold after the last block. */
const AFTER: Readonly<Record<string, (session: PageSession) => Promise<void>>> = {
  'README.md': async ({ crm }) => {
    await until(() => crm.messages.length > 0);
  },
};

const toRun = codeBlocks(ROOT).filter(({ mark }) => mark === undefined);
const pages = [...Map.groupBy(toRun, ({ page }) => page)];

describe('the code blocks of the documents', () => {
  it.each(pages)(
    '%s: every block without a mark runs',
    async (page, blocks) => {
      const session = await startPageSession(cleanup);
      for (const commands of BEFORE[page] ?? [])
        expect(await session.run({ language: 'bash', code: commands }), commands).toBeUndefined();
      for (const block of blocks) {
        const problem = await session.run(block);
        expect(problem, `${page}:${block.line}`).toBeUndefined();
      }
      await AFTER[page]?.(session);
    },
    WITHIN_MS,
  );
});
