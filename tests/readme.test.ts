import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { startAgent } from '@footbridge/testkit/agent';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { startCrm } from '@footbridge/testkit/crm';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { loadConfig } from '@footbridge/service/config/config';

import { commandsIn } from '../scripts/named-commands.ts';
import { startBridge } from './bridge.ts';
import { runCli } from './cli/run-cli.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const LOCATION = 'locREADMEREADMEREAD1';
const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');
const firstScreen = readme.slice(0, 2500);
const [, runTheService = ''] = readme.split('\n## Run the service\n');

const blocks = (language: string): string[] =>
  [...runTheService.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].flatMap(([, tag, block = '']) =>
    tag === language ? [block] : [],
  );
const commands = blocks('bash').join('');

/** The settings of the n-th `.env` on the page. */
function envFile(index: number): Record<string, string> {
  const lines = (blocks('ini')[index] ?? '').trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

describe('README.md', () => {
  it('says on the first screen what does not work on a real Mac and what was not verified', () => {
    expect(firstScreen).toContain('real Mac');
    expect(firstScreen).toContain('macOS offers no way');
    expect(firstScreen.match(/\*\*not yet verified on a Mac\*\*/g)).toHaveLength(3);
    expect(firstScreen).toContain('Nothing has been verified on a Mac or with the real CRM');
  });

  it('has commands that deliver a text of a customer to the CRM', async () => {
    const crm = await startCrm();
    cleanup.add(() => crm.stop());
    const settings = envFile(0);
    expect(settings).toEqual({ CRM_PIT_TOKENS: 'LOCATION=pit-…' });
    const bridge = await startBridge({
      CRM_HOSTNAME: crm.url,
      CRM_PIT_TOKENS: (settings['CRM_PIT_TOKENS'] ?? '')
        .replace('LOCATION', LOCATION)
        .replace('pit-…', crm.pit(LOCATION)),
    });
    cleanup.add(() => bridge.stop());
    const folder = await tempDir(cleanup);
    const { port } = new URL(bridge.operatorUrl);
    writeFileSync(join(folder, '.env'), `ADMIN_PORT=${port}\nDATA_DIR=${bridge.dataDir}\n`);

    const [addKey = [], createLicense = [], tail = []] = commandsIn('footbridge', commands);
    expect(await runCli(addKey, folder)).toMatchObject({ code: 0, lines: [{ enabled: true }] });
    const license = await runCli(
      createLicense.map((word) => word.replaceAll('"', '')),
      folder,
    );
    expect(license).toMatchObject({ code: 0, lines: [{ label: 'Front desk', maxSeats: 2 }] });

    const [run = []] = commandsIn('footbridge-agent', commands);
    expect(run).toEqual(
      expect.arrayContaining(['run', '--simulate', '--url', '--license', '--location', '--data-dir']),
    );
    const agent = await startAgent({
      url: bridge.url,
      license: String(license.lines[0]?.['key']),
      location: LOCATION,
    });
    cleanup.add(() => agent.stop());
    await agent.say('+14155550177', { text: 'Hello' });
    await until(() => crm.messages.length > 0);
    const seen = await runCli([...tail, '--since', '1h', '--no-follow'], folder);
    expect(seen).toMatchObject({ code: 0, lines: [{ direction: 'inbound', locationId: LOCATION }] });
  });

  it('has OAuth settings that are complete', () => {
    const settings = { ...envFile(1), CRM_OAUTH_ENCRYPTION_KEY: randomBytes(32).toString('hex') };
    expect(settings).toMatchObject({ DATABASE_URL: 'sqlite:./data/footbridge.sqlite' });
    const { config, warnings } = loadConfig(settings);
    expect(config.oauth.state).toBe('ready');
    expect(warnings).toEqual([]);
  });
});
