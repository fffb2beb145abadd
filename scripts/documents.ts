// Documents generated from tables in code and from other documents. `npm run check` fails when one is stale, `npm run check -- --write` writes them.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { CODES } from '@footbridge/protocol/codes';
import type { Channel } from '@footbridge/protocol/codes';

import { SETTINGS } from '@footbridge/service/config';
import { configurationPage, envExample } from '@footbridge/service/platform/settings/documents';
import { apiPage } from './api-page.ts';
import { cliPage } from './cli-page.ts';
import { dashboardFiles } from './grafana-dashboards.ts';
import { operatePage } from './log-events.ts';
import { bundledPrograms } from './jxa-programs.ts';
import { verifiedPage, verifiedTable } from './mac-verified.ts';
import { metricsPage } from './metrics-page.ts';
import { clausesJson } from './numbered-rules.ts';
import { securityPage } from './security-page.ts';
import { wirePage } from './operator-calls-page.ts';
import { noticesPage } from './third-party-notices.ts';

const CHANNELS: Record<Channel, string> = {
  webhook: 'Webhook responses',
  status: 'Status callbacks: `error.code`',
  inbound: 'Undelivered inbound messages',
  oauth: 'OAuth callback responses',
  enrolment: 'Responses to Macs',
  operator: 'Operator API responses',
};

function errorsPage(): string {
  const tables = Object.entries(CHANNELS).map(([channel, title]) => {
    const entries = CODES.filter((entry) => entry.channel === channel);
    const areResponses = entries.some(({ http }) => http !== undefined);
    const rows = entries.map(
      ({ code, http, meaning, retry, advice }) =>
        `| \`${code}\` |${areResponses ? ` ${http ?? ''} |` : ''} ${meaning} | ${retry} | ${advice} |`,
    );
    const head = areResponses
      ? '| code | HTTP | meaning | retry | what to do |\n|---|---|---|---|---|'
      : '| code | meaning | retry | what to do |\n|---|---|---|---|';
    return `## ${title}\n\n${head}\n${rows.join('\n')}\n`;
  });
  return `# Error codes\n\n<!-- Made from packages/protocol/src/codes.ts by \`npm run check -- --write\`. -->\n\nA code never changes its meaning; new ones may be added. Do not retry after an unknown code. \`footbridge explain CODE\` prints a row of this page.\n\nRetry: \`yes\` soon and with backoff, \`later\` when the named cause is resolved, \`sometimes\` depending on the error message, \`no\` because the same request fails again.\n\n${tables.join('\n')}`;
}

const DOCUMENTS: Record<string, (root: string) => string | Promise<string>> = {
  '.env.example': () => envExample(Object.values(SETTINGS)),
  'docs/api.md': apiPage,
  ...dashboardFiles(),
  'docs/cli.md': cliPage,
  'docs/configuration.md': () => configurationPage(Object.values(SETTINGS)),
  'docs/errors.md': errorsPage,
  'docs/mac-verified.md': verifiedPage,
  'docs/metrics.md': metricsPage,
  'docs/operate.md': operatePage,
  'docs/security.md': securityPage,
  'docs/wire.md': wirePage,
  'packages/agent/src/config/verified-on-mac-table.ts': verifiedTable,
  'packages/agent/src/ports/messages/macos/bundled-programs.ts': bundledPrograms,
  'tests/contract/clauses.json': clausesJson,
  'THIRD-PARTY-NOTICES': noticesPage,
};

export async function staleDocuments(root: string): Promise<string[]> {
  const stale: string[] = [];
  for (const [path, make] of Object.entries(DOCUMENTS))
    if (readIfThere(join(root, path)) !== (await make(root)))
      stale.push(`${path} is stale: run npm run check -- --write`);
  return stale;
}

export async function writeDocuments(root: string): Promise<void> {
  for (const [path, make] of Object.entries(DOCUMENTS)) writeFileSync(join(root, path), await make(root));
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
