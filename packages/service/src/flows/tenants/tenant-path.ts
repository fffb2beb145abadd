import type { StateReport } from '../../ports/switchboard/switchboard.ts';

/** The links between the CRM and the customer, in the order in which a message uses them. */
export const LINKS = [
  'installed',
  'webhook',
  'grant',
  'mac',
  'messages',
  'permissions',
  'queue',
  'crm',
] as const;
export type LinkName = (typeof LINKS)[number];

/** `waiting`: nothing has used the link yet. `unknown`: the Mac has not reported it. Neither is a problem. */
export type LinkState = 'ok' | 'waiting' | 'unknown' | 'broken';

export interface Link {
  readonly name: LinkName;
  readonly state: LinkState;
  /** One sentence. */
  readonly sentence: string;
  /** Since when, if it is known. */
  readonly since: number | null;
}

/** The first broken link, and what to do about it. */
export interface Problem {
  readonly link: LinkName;
  readonly sentence: string;
  readonly action: string;
  readonly since: number | null;
}

export interface TenantPath {
  readonly locationId: string;
  readonly links: readonly Link[];
  /** All broken links, in order. */
  readonly broken: readonly Problem[];
  readonly problem: Problem | null;
}

export interface TenantFacts {
  readonly locationId: string;
  /** Where calls to the CRM get their token from. */
  readonly token: 'oauth' | 'private' | 'none';
  readonly grant: { readonly state: string; readonly lastError: string | null } | null;
  readonly lastWebhookAt: number | null;
  /** The Mac that holds the location now. */
  readonly mac: {
    readonly name: string;
    readonly since: number;
    readonly stateReport: StateReport | null;
  } | null;
  /** The Mac that held it last. */
  readonly lastMac: { readonly name: string; readonly lastSeenAt: number } | null;
  readonly crmCalls: RecentCalls;
}

/** The newest calls to the CRM for a location. */
export interface RecentCalls {
  readonly calls: number;
  readonly rejected: number;
  /** The HTTP status of the newest rejected call, or the reason why there was no response. */
  readonly lastResult: string | null;
  /** The first of the rejections in a row that end the list. */
  readonly rejectedSince: number | null;
}

type Finding = Omit<Link, 'name'> & { readonly action?: string };

const OLD_QUEUE_SEC = 600;
const PERMISSIONS = {
  fullDisk: 'Full Disk Access',
  automation: 'Automation',
  accessibility: 'Accessibility',
} as const;
/** Without Accessibility a Mac sends and receives; only Tapbacks, replies, effects and new groups fail. */
const REQUIRED = ['fullDisk', 'automation'] as const;

/** Checks each link of a tenant. The first broken one is the problem: those after it cannot work. */
export function tenantPath(facts: TenantFacts): TenantPath {
  const findings: Record<LinkName, Finding> = {
    installed: installed(facts),
    webhook: webhook(facts),
    grant: grant(facts),
    mac: mac(facts),
    messages: messages(facts),
    permissions: permissions(facts),
    queue: queue(facts),
    crm: crm(facts),
  };
  const links = LINKS.map((name) => {
    const { state, sentence, since } = findings[name];
    return { name, state, sentence, since };
  });
  const problems = links
    .filter(({ state }) => state === 'broken')
    .map(({ name, sentence, since }) => ({
      link: name,
      sentence,
      action: findings[name].action ?? '',
      since,
    }));
  return { locationId: facts.locationId, links, broken: problems, problem: problems[0] ?? null };
}

function installed({ token, grant: granted }: TenantFacts): Finding {
  if (granted?.state === 'uninstalled')
    return broken(
      'The app was uninstalled in this sub-account.',
      'If this was not intended, install the app again in HighLevel.',
    );
  if (granted?.state === 'expected')
    return broken(
      'The app was installed in this sub-account, but its agency has not authorised it.',
      'Authorise the app for the agency in HighLevel.',
    );
  if (token === 'oauth') return ok('The app is installed.');
  if (token === 'private') return ok('A private integration token is set.');
  return broken(
    'The app is not installed in this sub-account, and no private integration token is set.',
    'Install the app in HighLevel, or set a private integration token.',
  );
}

function webhook({ lastWebhookAt }: TenantFacts): Finding {
  return lastWebhookAt === null
    ? waiting('No webhook has arrived yet.')
    : ok('Webhooks arrive.', lastWebhookAt);
}

function grant({ token, grant: granted }: TenantFacts): Finding {
  if (token === 'none') return waiting('There is no token yet.');
  if (granted === null) return ok('Private integration tokens do not expire.');
  if (granted.state === 'active') return ok('The CRM accepts the token.');
  return broken(
    `The CRM no longer accepts the token${granted.lastError === null ? '' : ` (${granted.lastError})`}.`,
    'Install the app again in this sub-account.',
  );
}

function mac({ mac: connected, lastMac }: TenantFacts): Finding {
  if (connected !== null) return ok(`${quoted(connected.name)} is connected.`, connected.since);
  if (lastMac === null)
    return broken('No Mac has ever connected for this location.', 'Pair a Mac with this location.');
  return broken(
    `The Mac ${quoted(lastMac.name)} is not connected.`,
    'Check that this Mac is switched on, awake and online.',
    lastMac.lastSeenAt,
  );
}

function messages({ mac: connected }: TenantFacts): Finding {
  const report = connected?.stateReport;
  if (!connected || !report) return unknown();
  const { messages: app } = report.state;
  if (app?.signedIn === false)
    return broken(
      `Messages on the Mac ${quoted(connected.name)} is not signed in.`,
      'Sign in to iMessage in the settings of Messages on this Mac.',
      report.at,
    );
  if (app?.signedIn === undefined) return unknown();
  return ok('Messages is signed in.', report.at);
}

function permissions({ mac: connected }: TenantFacts): Finding {
  const report = connected?.stateReport;
  if (!connected || !report) return unknown();
  const given = report.state.permissions ?? {};
  const denied = REQUIRED.find((name) => given[name] === 'denied');
  if (denied !== undefined)
    return broken(
      `The Mac ${quoted(connected.name)} does not have the ${PERMISSIONS[denied]} permission.`,
      `Allow Footbridge Agent under System Settings > Privacy & Security > ${PERMISSIONS[denied]} on this Mac.`,
      report.at,
    );
  if (REQUIRED.some((name) => given[name] !== 'granted')) return unknown();
  return given.accessibility === 'denied'
    ? ok(
        'Messages can be sent and received. Tapbacks, replies, effects and new groups need the Accessibility permission.',
      )
    : ok('All permissions are granted.', report.at);
}

function queue({ mac: connected }: TenantFacts): Finding {
  const waitingJobs = connected?.stateReport?.state.queue;
  if (!connected || waitingJobs === undefined) return unknown();
  const { pending, oldestSec = 0 } = waitingJobs;
  const { held = 0, nextSlotAt } = connected?.stateReport?.state.pacing ?? {};
  const waitingMessages = pending === 1 ? '1 message waits' : `${pending} messages wait`;
  if (held > 0) {
    const slot = nextSlotAt === undefined ? '' : `, the next free slot is at ${nextSlotAt}`;
    return ok(`${waitingMessages} on the Mac: ${held} over a limit of the line${slot}.`);
  }
  if (oldestSec > OLD_QUEUE_SEC)
    return broken(
      `${waitingMessages} on the Mac ${quoted(connected.name)}, the oldest for ${Math.floor(oldestSec / 60)} minutes.`,
      'Check that Messages responds on this Mac, then run `footbridge-agent doctor` there.',
    );
  return ok(pending === 0 ? 'No message waits on the Mac.' : `${waitingMessages} on the Mac.`);
}

function crm({ crmCalls }: TenantFacts): Finding {
  const { calls, rejected, lastResult, rejectedSince } = crmCalls;
  if (calls === 0) return waiting('The CRM has not been called yet.');
  if (rejected * 2 <= calls)
    return ok(
      rejected === 0
        ? 'The CRM accepts every call.'
        : `The CRM rejected ${rejected} of the last ${calls} calls.`,
    );
  return broken(
    `The CRM rejected ${rejected} of the last ${calls} calls${lastResult === null ? '' : `, the last one with ${lastResult}`}.`,
    lastResult === '401' || lastResult === '403'
      ? 'Install the app again, with all scopes.'
      : 'Open the newest failed message to see the reason.',
    rejectedSince,
  );
}

const quoted = (name: string) => (name === '' ? 'without a name' : `“${name}”`);
const ok = (sentence: string, since: number | null = null): Finding => ({ state: 'ok', sentence, since });
const waiting = (sentence: string): Finding => ({ state: 'waiting', sentence, since: null });
const unknown = (): Finding => ({
  state: 'unknown',
  sentence: 'The Mac has not reported this.',
  since: null,
});
const broken = (sentence: string, action: string, since: number | null = null): Finding => ({
  state: 'broken',
  sentence,
  action,
  since,
});
