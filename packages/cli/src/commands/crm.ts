import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { checkCrm, listRejections, showCrmApp } from '@footbridge/protocol/operator/crm';
import { listTenants, showDiagnosis } from '@footbridge/protocol/operator/watching';
import { SIGNATURE_STEPS } from '@footbridge/protocol/signature-steps';
import { fail, pass, warn } from '@footbridge/runtime/finding';
import type { Finding } from '@footbridge/runtime/finding';
import type { Command } from 'commander';

import { CliError, EXIT } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import { printFindings } from '../print-findings.ts';
import { localTime } from '../format-time.ts';
import type { OperatorClient } from '../operator-client.ts';

type Diagnosis = ResponseOf<typeof showDiagnosis>;
type Tenant = ResponseOf<typeof listTenants>['tenants'][number];
type CheckedCall = ResponseOf<typeof checkCrm>['calls'][number];

const EXAMPLES = `
Examples:
  footbridge crm check
  footbridge crm check --location ve9EPM428h8vShlRW1KT --json`;
const MAX_LOCATIONS = 20;
/** The links in the path of a tenant that concern the CRM. */
const LINKS = new Set(['installed', 'webhook', 'grant', 'crm']);

/** `footbridge crm check`: diagnoses the app that is installed in the CRM. */
export function crmCommand(program: Command): void {
  program
    .command('crm')
    .addHelpText('after', EXAMPLES)
    .command('check')
    .description('try the token of each location, and print what is wrong with one remedy for each finding')
    .option('--location <id>', `only this location (default: the first ${MAX_LOCATIONS}, broken ones first)`)
    .action(async ({ location }: { location?: string }, command: Command) => {
      const { output, operator } = contextOf(command);
      printFindings(output, await checkApp(operator(), location));
    });
}

/** Returns what a check of the app finds, for one location or for all. */
export async function checkApp(client: OperatorClient, location?: string): Promise<Finding[]> {
  const [diagnosis, { deliveryUrl }, { rejections }, { tenants }] = await Promise.all([
    client.ask(showDiagnosis),
    client.ask(showCrmApp),
    client.ask(listRejections),
    client.ask(listTenants, { limit: MAX_LOCATIONS, ...(location !== undefined && { search: location }) }),
  ]);
  const wanted = tenants.filter(({ locationId }) => location === undefined || locationId === location);
  if (location !== undefined && wanted.length === 0)
    throw new CliError(`no location ${location}`, {
      exitCode: EXIT.notFound,
      next: 'run footbridge location list to see them all',
    });
  const ofLocations: Finding[] = [];
  for (const tenant of wanted) ofLocations.push(...(await checkLocation(client, tenant, deliveryUrl)));
  return [
    checkOAuth(diagnosis),
    checkProvider(diagnosis),
    ...rejectionFindings(rejections),
    ...(wanted.length === 0
      ? [
          warn(
            'locations',
            'the app is not installed in any',
            'footbridge setup highlevel prints the install link',
          ),
        ]
      : ofLocations),
  ];
}

function checkOAuth({ settings: { oauth, missing } }: Diagnosis): Finding {
  if (oauth === 'ready') return pass('OAuth', 'all settings are present');
  return oauth === 'incomplete'
    ? fail('OAuth', `${missing.join(', ')} missing`, 'footbridge setup highlevel, then restart the service')
    : warn('OAuth', 'disabled: the CRM gets no statuses', 'footbridge setup highlevel');
}

/** Returns a finding for each step at which signatures were rejected. */
export const rejectionFindings = (rejections: ResponseOf<typeof listRejections>['rejections']): Finding[] =>
  rejections.map(({ step, count }) =>
    warn(
      'signatures',
      `${count} webhooks got 401 within the last hour: ${SIGNATURE_STEPS[step].meaning}`,
      SIGNATURE_STEPS[step].advice,
    ),
  );

/** An added channel has a provider id and the type Custom; a replaced SMS provider has neither. */
function checkProvider({ settings: { conversationProviderId: id, inboundType: type } }: Diagnosis): Finding {
  if (id === null && type === 'Custom')
    return fail(
      'provider',
      'inbound messages have the type Custom and no conversationProviderId: the CRM rejects them',
      'set CRM_CONVERSATION_PROVIDER_ID to the id of the provider, and restart the service',
    );
  if (id !== null && type === 'SMS')
    return warn(
      'provider',
      'CRM_CONVERSATION_PROVIDER_ID is set, but CRM_INBOUND_TYPE is SMS; the CRM rejects that for an added channel',
      'set CRM_INBOUND_TYPE=Custom for an added channel, or remove the provider id for the default SMS provider',
    );
  return pass('provider', id === null ? 'default SMS provider' : `added channel ${id}`);
}

async function checkLocation(
  client: OperatorClient,
  tenant: Tenant,
  deliveryUrl: string,
): Promise<Finding[]> {
  const { locationId, links, problem } = tenant;
  const found = links
    .filter(({ name }) => LINKS.has(name))
    .map(({ name, state, sentence, since }) => {
      const check = `${locationId} ${name}`;
      const when = since === null ? '' : ` (${localTime(since)})`;
      if (state === 'broken')
        return fail(check, sentence, problem?.link === name ? problem.action : 'see above');
      if (name === 'webhook' && state === 'waiting')
        return warn(
          check,
          sentence,
          `in HighLevel, the delivery URL of the provider must be ${deliveryUrl}, and Settings > Phone Numbers > Advanced > SMS Provider must name it`,
        );
      return pass(check, sentence + when);
    });
  if (links.some(({ name, state }) => name === 'installed' && state === 'broken')) return found;
  const { calls } = await client.ask(checkCrm, { locationId });
  return [...found, ...calls.map((call) => checkCall(locationId, call))];
}

function checkCall(locationId: string, { scope, ok, kind, status, reason }: CheckedCall): Finding {
  const check = `${locationId} ${scope}`;
  if (ok) return pass(check, 'the CRM accepts the token');
  const isRejected = status === 401 || status === 403 || kind === 'reauth_required' || kind === 'none';
  return fail(
    check,
    `the CRM rejected a test call: ${reason ?? kind ?? 'no response'}${status === 0 ? '' : ` (HTTP ${status})`}`,
    isRejected
      ? `add the scope ${scope} to the app if it is missing, and install the app again in this sub-account`
      : 'try again in a minute; footbridge doctor checks the connection to the CRM',
  );
}
