import { createRequire } from 'node:module';

import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { listRejections } from '@footbridge/protocol/operator/crm';
import { everyPage } from '@footbridge/protocol/operator/every-page';
import { showReadiness } from '@footbridge/protocol/operator/session';
import { listTenants, showDiagnosis } from '@footbridge/protocol/operator/watching';
import { fail, pass, warn } from '@footbridge/runtime/finding';
import type { Finding } from '@footbridge/runtime/finding';
import type { Command } from 'commander';

import { CliError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import { printFindings } from '../print-findings.ts';
import type { OperatorClient } from '../operator-client.ts';
import { listKeys } from '../trusted-keys.ts';
import { rejectionFindings } from './crm.ts';
import { allIssues } from './issues.ts';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

type Diagnosis = ResponseOf<typeof showDiagnosis>;
type ProbedAddress = Diagnosis['crm'];

interface Facts {
  readonly diagnosis: Diagnosis;
  readonly readiness: { readonly status: string; readonly checks?: Readonly<Record<string, string>> };
  readonly keys: readonly { label: string; enabled: boolean; lastUsedAt: string | null }[];
  readonly rejections: ResponseOf<typeof listRejections>['rejections'];
  readonly tenants: readonly {
    locationId: string;
    problem: { link: string; sentence: string; action: string } | null;
  }[];
  readonly issues: readonly { sentence: string }[];
}

const EXAMPLES = `
Examples:
  footbridge doctor
  footbridge doctor --json`;
const MAX_LOCATIONS = 20;
const MAX_TENANTS = 10_000;
const WARN_SKEW_SEC = 30;
const FAIL_SKEW_SEC = 300;

/** `footbridge doctor`: checks everything between the CRM and the Macs, with one remedy for each finding. */
export function doctorCommand(program: Command): void {
  program
    .command('doctor')
    .addHelpText('after', EXAMPLES)
    .action(async (_options: object, command: Command) => {
      const { output, operator, target } = contextOf(command);
      const { url, urlFrom } = target();
      try {
        const facts = await factsOf(operator());
        printFindings(output, [pass('service', `${url} (${urlFrom}) responds`), ...diagnose(facts)]);
      } catch (error) {
        if (!(error instanceof CliError)) throw error;
        printFindings(output, [fail('service', error.message, error.next ?? 'see the log of the service')]);
      }
    });
}

async function factsOf(client: OperatorClient): Promise<Facts> {
  const [diagnosis, readiness, keys, { rejections }, tenants, issues] = await Promise.all([
    client.ask(showDiagnosis),
    client.ask(showReadiness).catch((): Facts['readiness'] => ({ status: 'fail' })),
    listKeys(client),
    client.ask(listRejections),
    everyPage(
      (page) => client.ask(listTenants, { limit: MAX_TENANTS, ...page }),
      (page) => page.tenants,
    ),
    allIssues(client, 'open'),
  ]);
  return { diagnosis, readiness, keys, rejections, tenants, issues };
}

/** Returns the finding of every check, in the order in which a message passes them. */
export function diagnose(facts: Facts): Finding[] {
  const { diagnosis } = facts;
  return [
    checkVersion(diagnosis),
    ...checkSettings(diagnosis),
    ...checkStorage(facts),
    checkPublicAddress(diagnosis),
    checkCrmHost(diagnosis.crm),
    ...checkClock(diagnosis.crm),
    ...checkKeys(facts),
    ...checkLocations(facts),
    checkIssues(facts),
  ];
}

const checkVersion = (diagnosis: Diagnosis): Finding =>
  diagnosis.version === version
    ? pass('version', version)
    : warn(
        'version',
        `the service has version ${diagnosis.version}, but this command has ${version}`,
        'use the same version of the command as of the service',
      );

function checkSettings({ settings: { warnings, oauth, missing } }: Diagnosis): Finding[] {
  const unknown = warnings.filter((warning) => !warning.startsWith('OAuth '));
  const found = unknown.map((warning) =>
    warn('settings', warning, 'correct it in .env or in the environment, then restart the service'),
  );
  if (found.length === 0) found.push(pass('settings', 'all names are known'));
  if (oauth === 'incomplete')
    found.push(
      fail(
        'OAuth',
        `OAuth is enabled, but ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing`,
        `set ${missing.join(', ')} and restart the service`,
      ),
    );
  else
    found.push(
      oauth === 'ready'
        ? pass('OAuth', 'all settings are present')
        : warn(
            'OAuth',
            'disabled: the CRM gets no statuses',
            'set the CRM_OAUTH settings (docs/crm.md), or ignore this with private integration tokens',
          ),
    );
  return found;
}

function checkStorage({
  readiness: { status, checks = {} },
  diagnosis: { settings: own },
}: Facts): Finding[] {
  const names = { store: `database (${own.database})`, redis: 'Redis' };
  const found = Object.entries(checks).map(([name, state]) => {
    const title = Object.hasOwn(names, name) ? names[name as keyof typeof names] : name;
    return state === 'ok'
      ? pass(title, 'responds')
      : fail(title, 'does not respond', 'start it, and check its address in the settings of the service');
  });
  if (status === 'fail')
    found.push(
      fail(
        'ready',
        'the service is not ready',
        'check that Redis responds, or wait until the service has restarted',
      ),
    );
  if (own.nodes === 'one') found.push(pass('nodes', 'one node; several need REDIS_URL and PostgreSQL'));
  else if (own.database === 'sqlite')
    found.push(
      warn(
        'nodes',
        'several nodes, each with its own SQLite file',
        'set DATABASE_URL to the same PostgreSQL database on every node',
      ),
    );
  return found;
}

function checkPublicAddress({
  publicAddress: { url, status, code, identity },
  settings: own,
}: Diagnosis): Finding {
  const name = 'public URL';
  if (status === 0)
    return fail(
      name,
      `${url} cannot be reached from the service: ${code ?? 'no response'}`,
      'check DNS, the certificate and the proxy in front of port PORT; some networks do not let a machine call its own public address',
    );
  if (own.baseUrl === null)
    return warn(
      name,
      `BASE_URL is not set, so links to attachments and the delivery URL are ${url}`,
      'set BASE_URL to the https address at which the CRM and the Macs reach this service, and restart it',
    );
  if (identity === 'unknown')
    return fail(
      name,
      `${url} responds with HTTP ${status}, but it is not this service`,
      'point BASE_URL, or the proxy behind it, at the public listener (PORT), without changing the path',
    );
  if (identity === 'other' && own.nodes === 'one')
    return fail(
      name,
      `${url} leads to another Footbridge service`,
      'point BASE_URL, or the proxy behind it, at the public listener (PORT) of this service',
    );
  if (!url.startsWith('https:') && !/^http:\/\/(127\.|localhost|\[::1\])/.test(url))
    return warn(
      name,
      `${url} is not encrypted`,
      'put a TLS proxy in front of it and set BASE_URL to its https address',
    );
  return pass(name, `${url} leads to this service`);
}

function checkCrmHost({ url, status, code, ms }: ProbedAddress): Finding {
  if (status !== 0) return pass('CRM', `${url} responds in ${ms} ms`);
  return fail(
    'CRM',
    `${url} cannot be reached from the service: ${code ?? 'no response'}`,
    'check CRM_HOSTNAME, the network and HTTPS_PROXY',
  );
}

function checkClock({ clockSkewSec: skew }: ProbedAddress): Finding[] {
  if (skew === undefined || skew === null) return [];
  const off = Math.abs(skew);
  const sentence = `the clock is ${off} s ${skew > 0 ? 'behind' : 'ahead of'} the clock of the CRM`;
  const remedy = 'synchronise the clock of this machine (timedatectl set-ntp true)';
  if (off > FAIL_SKEW_SEC) return [fail('clock', sentence, remedy)];
  return [off > WARN_SKEW_SEC ? warn('clock', sentence, remedy) : pass('clock', `${off} s off`)];
}

function checkKeys({ keys: all, rejections, diagnosis }: Facts): Finding[] {
  const enabled = all.filter((key) => key.enabled);
  const found: Finding[] = [];
  if (enabled.length === 0)
    found.push(
      fail(
        'keys',
        all.length === 0
          ? 'no CRM key is trusted, so every webhook gets 401'
          : 'all CRM keys are disabled, so every webhook gets 401',
        all.length === 0
          ? 'footbridge keys add --preset highlevel'
          : `footbridge keys enable ${JSON.stringify(all[0]?.label)}`,
      ),
    );
  else if (enabled.every(({ lastUsedAt }) => lastUsedAt === null))
    found.push(
      warn(
        'keys',
        `${enabled.length} trusted, but none has verified a webhook since the service started ${ago(diagnosis.uptimeSec)}`,
        'send a text from the CRM; if it does not arrive, check the delivery URL in the CRM',
      ),
    );
  else found.push(pass('keys', `${enabled.length} trusted`));
  for (const { label } of all.filter((key) => !key.enabled && enabled.length > 0))
    found.push(
      warn(
        'keys',
        `${label} is disabled`,
        `footbridge keys remove ${JSON.stringify(label)}, if it is no longer needed`,
      ),
    );
  found.push(...rejectionFindings(rejections));
  return found;
}

function checkLocations({ tenants }: Facts): Finding[] {
  if (tenants.length === 0)
    return [
      warn(
        'locations',
        'there are none',
        'install the app in a sub-account, or pair a Mac: footbridge device pair LOCATION',
      ),
    ];
  const broken = tenants.flatMap(({ locationId, problem }) =>
    problem === null ? [] : [{ locationId, problem }],
  );
  if (broken.length === 0) return [pass('locations', `all ${tenants.length} can text`)];
  const found = broken
    .slice(0, MAX_LOCATIONS)
    .map(({ locationId, problem }) =>
      fail('locations', `${locationId}: ${problem.sentence}`, problem.action),
    );
  const rest = broken.length - found.length;
  if (rest > 0)
    found.push(
      fail('locations', `${rest} more cannot text`, 'footbridge open shows them all in the console'),
    );
  return found;
}

const checkIssues = ({ issues: open }: Facts): Finding =>
  open.length === 0
    ? pass('issues', 'none are open')
    : warn('issues', `${open.length} open: ${open[0]?.sentence ?? ''}`, 'footbridge issues');

const ago = (sec: number): string =>
  sec < 120
    ? `${sec} seconds ago`
    : sec < 7200
      ? `${Math.floor(sec / 60)} minutes ago`
      : `${Math.floor(sec / 3600)} hours ago`;
