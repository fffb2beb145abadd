import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { loadConfig } from '@footbridge/service/config';
import { oauthApp } from '@footbridge/service/features/oauth/settings';

import { codeBlocksIn } from '../scripts/code-blocks.ts';

const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');
const firstScreen = readme.slice(0, 2500);

/** The settings of the n-th `.env` on the page. */
function envFile(index: number): Record<string, string> {
  const blocks = codeBlocksIn('README.md', readme).filter(({ language }) => language === 'ini');
  const lines = (blocks[index]?.code ?? '').trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

// tests/docs runs the commands of this page.
describe('README.md', () => {
  it('says on the first screen what does not work on a real Mac and what was not verified', () => {
    expect(firstScreen).toContain('real Mac');
    expect(firstScreen).toContain('macOS offers no way');
    expect(firstScreen.match(/\*\*not yet verified on a Mac\*\*/g)).toHaveLength(3);
    expect(firstScreen).toContain('Nothing has been verified on a Mac or with the real CRM');
  });

  it('has OAuth settings that are complete', () => {
    const settings = { ...envFile(1), CRM_OAUTH_ENCRYPTION_KEY: randomBytes(32).toString('hex') };
    expect(settings).toMatchObject({ DATABASE_URL: 'sqlite:./data/footbridge.sqlite' });
    const { config, warnings } = loadConfig(settings);
    expect(oauthApp(config).state).toBe('ready');
    expect(warnings).toEqual([]);
  });
});
