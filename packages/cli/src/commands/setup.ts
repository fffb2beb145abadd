import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';

import { CRM_SCOPES } from '@footbridge/protocol/crm-scopes';
import { addKey, listGrants, showCrmApp } from '@footbridge/protocol/operator/crm';
import { everyPage } from '@footbridge/protocol/operator/every-page';
import type { Command } from 'commander';

import { CliError, EXIT, usageError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import type { CommandContext } from '../command-context.ts';
import { updateEnvFile } from '../env-file.ts';
import { printFindings } from '../print-findings.ts';
import type { Environment } from '../io.ts';
import type { OperatorClient } from '../operator-client.ts';
import { httpUrl, seconds } from '../option-values.ts';
import { withProgress } from '../progress.ts';
import { ask, askHidden } from '../prompt.ts';
import { readSecret } from '../read-secret.ts';
import { checkApp } from './crm.ts';

interface Options {
  readonly baseUrl?: string;
  readonly clientId?: string;
  readonly clientSecretFile?: string;
  readonly envFile: string;
  readonly wait: number | boolean;
}

const EXAMPLES = `
Examples:
  footbridge setup highlevel
  footbridge setup highlevel --base-url https://bridge.example.com --client-id ID --client-secret-file secret --no-wait`;
const TOKEN_URL = 'https://services.leadconnectorhq.com/oauth/token';
const DEFAULT_WAIT_SEC = 900;
const POLL_MS = 1000;
const VALUE = /^[\x21-\x7e]{4,512}$/;

/** `footbridge setup highlevel`: guides the operator to an installed app. */
export function setupCommand(program: Command): void {
  program
    .command('setup')
    .addHelpText('after', EXAMPLES)
    .command('highlevel')
    .description(
      'print the values for the form of the marketplace app, save its credentials and wait for the installation',
    )
    .option('--base-url <url>', 'the public https address of the service (default: BASE_URL)', httpUrl)
    .option('--client-id <id>', 'client id of the app (default: ask)')
    .option(
      '--client-secret-file <file>',
      'file with the client secret; - reads from standard input (default: ask)',
    )
    .option('--env-file <file>', 'the settings of the service', '.env')
    .option(
      '--wait <seconds>',
      `how long to wait for the restart and the installation (default: ${DEFAULT_WAIT_SEC})`,
      seconds,
    )
    .option('--no-wait', 'save the settings and exit')
    .action(async (options: Options, command: Command) => {
      const context = contextOf(command);
      const { output } = context;
      const baseUrl = await baseUrlOf(context, options);
      printForm(context, baseUrl);
      const values = {
        ...(await credentialsOf(context, options)),
        ...defaultsOf(context.io.env),
        BASE_URL: baseUrl,
        CRM_OAUTH_ENABLED: 'true',
      };
      const file = resolve(options.envFile);
      const names = Object.keys(values);
      context.beforeChange(`save ${names.join(', ')} in ${file}`, { file, settings: names });
      updateEnvFile(options.envFile, values);
      output.result(`Saved in ${file}, readable only by its owner: ${names.join(', ')}.`, {
        file,
        settings: names,
      });
      if (options.wait === false) {
        output.hint(
          'Next: restart the service, then run footbridge setup highlevel again for the install link.',
        );
        return;
      }
      const withinMs = (typeof options.wait === 'number' ? options.wait : DEFAULT_WAIT_SEC) * 1000;
      await finish(context, withinMs);
    });
}

async function baseUrlOf({ io, noInput }: CommandContext, options: Options): Promise<string> {
  const known = options.baseUrl ?? (io.env['BASE_URL'] || undefined);
  const given =
    known ??
    (io.stdin.isTTY === true && !noInput ? await ask(io, 'Public https address of the service: ') : '');
  if (/^https:\/\/[^/]+$/.test(given.replace(/\/+$/, ''))) return given.replace(/\/+$/, '');
  throw usageError(
    given === ''
      ? 'setup needs --base-url, the public https address at which HighLevel reaches the service'
      : 'HighLevel accepts only https addresses without a path; pass one with --base-url',
  );
}

/** Prints the values for HighLevel's form, under the names that it uses. */
function printForm({ output }: CommandContext, baseUrl: string): void {
  const form = {
    redirectUrl: `${baseUrl}/oauth/callback/crm`,
    deliveryUrl: `${baseUrl}/crm/webhook`,
    webhookUrl: `${baseUrl}/crm/events`,
    scopes: CRM_SCOPES.map(({ scope }) => scope),
  };
  output.result(
    `In the HighLevel marketplace (marketplace.gohighlevel.com), under My Apps, create a private app for sub-accounts and enter:

  Redirect URL           ${form.redirectUrl}
  Scopes                 ${form.scopes.join(' ')}
  Default webhook URL    ${form.webhookUrl}
  Conversation provider  type SMS, delivery URL ${form.deliveryUrl}

Then create a client key pair in the app. It shows the client id and the client secret once.
`,
    form,
  );
}

async function credentialsOf({ io, noInput }: CommandContext, options: Options) {
  const isTTY = io.stdin.isTTY === true && !noInput;
  const known = options.clientId ?? (io.env['CRM_OAUTH_CLIENT_ID'] || undefined);
  const clientId = known ?? (isTTY ? await ask(io, 'Client id: ') : undefined);
  if (clientId === undefined) throw usageError('setup needs --client-id when it cannot ask for it');
  const secret = await secretOf(io, options, isTTY);
  if (secret === undefined) throw usageError('setup needs --client-secret-file when it cannot ask for it');
  if (!VALUE.test(clientId) || !VALUE.test(secret) || /['"#\\]/.test(clientId + secret))
    throw usageError(
      'the client id or the client secret is empty or contains characters that HighLevel does not use',
    );
  return { CRM_OAUTH_CLIENT_ID: clientId, CRM_OAUTH_CLIENT_SECRET: secret };
}

async function secretOf(
  io: CommandContext['io'],
  options: Options,
  isTTY: boolean,
): Promise<string | undefined> {
  if (options.clientSecretFile !== undefined) return readSecret(options.clientSecretFile);
  const saved = io.env['CRM_OAUTH_CLIENT_SECRET'] || undefined;
  return saved ?? (isTTY ? await askHidden(io, 'Client secret (hidden): ') : undefined);
}

/** Required settings that have one sensible value. Existing ones are kept. */
function defaultsOf(env: Environment): Record<string, string> {
  const wanted = {
    CRM_OAUTH_TOKEN_URL: TOKEN_URL,
    CRM_OAUTH_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    CRM_OAUTH_REFRESH_THRESHOLD_SEC: '3600',
    ...(!env['CRM_OAUTH_DATABASE_URL'] && { DATABASE_URL: 'sqlite:./data/footbridge.sqlite' }),
  };
  return Object.fromEntries(Object.entries(wanted).filter(([name]) => !env[name] && !env[`${name}_FILE`]));
}

/** Waits for the restart of the service and for the installation, tests the new grant and lists the remaining steps. */
async function finish(context: CommandContext, withinMs: number): Promise<void> {
  const { output, io } = context;
  output.hint('Restart the service now, so that it reads the new settings.');
  const app = await waitFor(io, { title: 'waiting for the restart', withinMs }, async () => {
    const found = await context.operator().ask(showCrmApp);
    return found.oauth === 'ready' ? found : undefined;
  });
  const client = context.operator();
  await trustHighLevel(client);
  output.result(`Install the app in a sub-account with this link:\n\n  ${app.installUrl ?? ''}\n`, {
    installUrl: app.installUrl,
  });
  const started = Date.now();
  const grant = await waitFor(io, { title: 'waiting for the installation', withinMs }, async () => {
    const grants = await everyPage(
      (page) => client.ask(listGrants, page),
      (page) => page.grants,
    );
    return grants.find(
      ({ state, refreshedAt, kind }) =>
        kind === 'location' && state === 'active' && Date.parse(refreshedAt) >= started - POLL_MS,
    );
  });
  output.result(`Installed in ${grant.ownerId}.`, { locationId: grant.ownerId });
  output.hint(`Remaining steps:
  1. In HighLevel, Settings > Phone Numbers > Advanced > SMS Provider: choose this app.
  2. footbridge license create, footbridge location assign ${grant.ownerId} LICENSE, footbridge device pair ${grant.ownerId}
  3. Send a text to yourself from a conversation in HighLevel, and watch it: footbridge tail
`);
  printFindings(output, await checkApp(client, grant.ownerId));
}

/** Succeeds if the key is already registered. */
async function trustHighLevel(client: OperatorClient): Promise<void> {
  try {
    await client.ask(addKey, { preset: 'highlevel' });
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== 'CONFLICT') throw error;
  }
}

/** Polls until `look` finds something. The service may be down in between. */
async function waitFor<T>(
  io: CommandContext['io'],
  span: { readonly title: string; readonly withinMs: number },
  look: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + span.withinMs;
  return await withProgress(io.stderr, span, async () => {
    for (;;) {
      const found = await look().catch((error: unknown) => {
        if (!(error instanceof CliError) || error.exitCode !== EXIT.unreachable) throw error;
      });
      if (found !== undefined) return found;
      if (performance.now() > deadline)
        throw new CliError(`timed out while ${span.title}; the settings are saved`, {
          exitCode: EXIT.timedOut,
          next: 'run footbridge setup highlevel again to continue',
        });
      await new Promise((wake) => setTimeout(wake, POLL_MS));
    }
  });
}
