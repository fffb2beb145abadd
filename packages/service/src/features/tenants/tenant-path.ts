import { UNREADABLE_TOKENS } from '../../relay/crm/tokens.ts';
import type { RecentCalls } from '../../relay/crm/crm-client.ts';
import type { StateReport } from '../../relay/switchboard/switchboard.ts';

/** The links between the CRM and the customer, in the order in which a message uses them. */
export const LINKS = [
  'installed',
  'webhook',
  'grant',
  'mac',
  'messages',
  'permissions',
  'queue',
  'traffic',
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

/** A broken link, and what to do about it. */
export interface Problem {
  readonly link: LinkName;
  /** The kind of its issue. Null: the location is not set up yet and has none, or it is part of an issue of several locations. */
  readonly kind: string | null;
  /** Whether nothing gets through. */
  readonly isDead: boolean;
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
  /**
   * Where calls to the CRM get their token from. `unreadable`: no key decrypts the private integration token.
   * `ambiguous`: CRM_PIT_TOKEN is not used, because licenses own several locations.
   */
  readonly token: 'oauth' | 'private' | 'unreadable' | 'ambiguous' | 'none';
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
  readonly traffic: LineTraffic;
  readonly now: number;
}

/** What the messages of a location say about Messages on its Mac. Times are those of the first message or failure. */
export interface LineTraffic {
  /** Texts that the Mac has had for minutes, while it reported no result of any text. */
  readonly unanswered: { readonly count: number; readonly since: number } | null;
  /** The last texts, all of which failed. */
  readonly failing: { readonly count: number; readonly code: string; readonly since: number } | null;
  /** Since when the line has been unusually silent, and the number of texts sent since then. */
  readonly silent: { readonly since: number; readonly sent: number } | null;
}

type LinkCheck = Omit<Link, 'name'> & Partial<Pick<Problem, 'action' | 'kind' | 'isDead'>>;

const OLD_QUEUE_MS = 600_000;
/** A Mac that has sent nothing for this long although texts wait is frozen. The operator must know within five minutes. */
export const FROZEN_MS = 240_000;
/** States of the message store in which nothing can be read. */
const UNREADABLE: Readonly<Record<string, string>> = {
  absent: 'does not exist',
  corrupt: 'is corrupt',
  locked: 'is locked by another program',
};
const PERMISSIONS = {
  fullDisk: 'Full Disk Access',
  automation: 'Automation',
  accessibility: 'Accessibility',
} as const;
/** Without Accessibility a Mac sends and receives; only Tapbacks, replies, effects and new groups fail. */
const REQUIRED = ['fullDisk', 'automation'] as const;

/** Checks each link of a tenant. The first broken one is the problem: those after it cannot work. */
export function tenantPath(facts: TenantFacts): TenantPath {
  const checked = LINKS.map((name) => ({ name, finding: CHECKS[name](facts) }));
  const links = checked.map(({ name, finding: { state, sentence, since } }) => ({
    name,
    state,
    sentence,
    since,
  }));
  const broken = checked.flatMap(({ name, finding }) => problemOf(name, finding) ?? []);
  return { locationId: facts.locationId, links, broken, problem: broken[0] ?? null };
}

/** Returns only the broken links, in order. */
export function brokenLinks(facts: TenantFacts): Problem[] {
  return LINKS.flatMap((name) => problemOf(name, CHECKS[name](facts)) ?? []);
}

function problemOf(link: LinkName, finding: LinkCheck): Problem | undefined {
  const { state, kind = null, isDead = false, sentence, action = '', since } = finding;
  return state === 'broken' ? { link, kind, isDead, sentence, action, since } : undefined;
}

const CHECKS: Readonly<Record<LinkName, (facts: TenantFacts) => LinkCheck>> = {
  installed,
  webhook,
  grant,
  mac,
  messages,
  permissions,
  queue,
  traffic,
  crm,
};

function installed({ token, grant: granted }: TenantFacts): LinkCheck {
  if (granted?.state === 'uninstalled')
    return broken(
      'The app was uninstalled in this sub-account.',
      'If this was not intended, install the app again in HighLevel.',
      { kind: null },
    );
  if (granted?.state === 'expected')
    return broken(
      'The app was installed in this sub-account, but its agency has not authorised it.',
      'Authorise the app for the agency in HighLevel.',
      { kind: null },
    );
  if (token === 'oauth') return ok('The app is installed.');
  if (token === 'private' || token === 'unreadable') return ok('A private integration token is set.');
  if (token === 'ambiguous')
    return broken(
      'CRM_PIT_TOKEN belongs to one location, and licenses own several, so it is not used.',
      'Delete a mistaken location with `footbridge location delete`. If all of them are right, set CRM_PIT_TOKENS.',
      { kind: 'token_ambiguous' },
    );
  return broken(
    'The app is not installed in this sub-account, and no private integration token is set.',
    'Install the app in HighLevel, or set a private integration token.',
    { kind: null },
  );
}

function webhook({ lastWebhookAt }: TenantFacts): LinkCheck {
  return lastWebhookAt === null
    ? waiting('No webhook has arrived yet.')
    : ok('Webhooks arrive.', lastWebhookAt);
}

function grant({ token, grant: granted }: TenantFacts): LinkCheck {
  if (token === 'none' || token === 'ambiguous') return waiting('There is no token yet.');
  if (token === 'unreadable' || granted?.state === 'unreadable') {
    const { sentence, actions } = UNREADABLE_TOKENS;
    return broken(sentence, token === 'unreadable' ? actions.private : actions.grant, { kind: null });
  }
  if (granted === null) return ok('Private integration tokens do not expire.');
  if (granted.state === 'active') return ok('The CRM accepts the token.');
  return broken(
    `The CRM no longer accepts the token${granted.lastError === null ? '' : ` (${granted.lastError})`}.`,
    'Install the app again in this sub-account.',
    { kind: 'grant_revoked' },
  );
}

function mac({ mac: connected, lastMac }: TenantFacts): LinkCheck {
  if (connected !== null) return ok(`${quoted(connected.name)} is connected.`, connected.since);
  if (lastMac === null)
    return broken('No Mac has ever connected for this location.', 'Pair a Mac with this location.', {
      kind: null,
    });
  return broken(
    `The Mac ${quoted(lastMac.name)} is not connected.`,
    'Check that this Mac is switched on, awake and online.',
    { kind: 'mac_offline', isDead: true, since: lastMac.lastSeenAt },
  );
}

function messages({ mac: connected }: TenantFacts): LinkCheck {
  const report = connected?.stateReport;
  if (!connected || !report) return unknown();
  const { running, signedIn, store = '' } = report.state.messages ?? {};
  const since = report.at;
  if (signedIn === false)
    return broken(
      `Messages on the Mac ${quoted(connected.name)} is not signed in.`,
      'Sign in to iMessage in the settings of Messages on this Mac.',
      { kind: 'messages_signed_out', isDead: true, since },
    );
  const unreadable = UNREADABLE[store];
  if (unreadable !== undefined)
    return broken(
      `The message store of the Mac ${quoted(connected.name)} ${unreadable}.`,
      'Quit Messages on this Mac and open it again, then run `footbridge-agent doctor` there.',
      { kind: 'store_unreadable', isDead: true, since },
    );
  if (running === false)
    return broken(
      `Messages on the Mac ${quoted(connected.name)}, or the server through which it sends, is not running.`,
      'Open Messages on this Mac, then run `footbridge-agent doctor` there.',
      { kind: 'messages_not_running', since },
    );
  if (signedIn === undefined) return unknown();
  return ok('Messages is signed in.', since);
}

function permissions({ mac: connected }: TenantFacts): LinkCheck {
  const report = connected?.stateReport;
  if (!connected || !report) return unknown();
  const given = report.state.permissions ?? {};
  const denied = REQUIRED.find((name) => given[name] === 'denied');
  if (denied !== undefined)
    return broken(
      `The Mac ${quoted(connected.name)} does not have the ${PERMISSIONS[denied]} permission.`,
      `Allow Footbridge Agent under System Settings > Privacy & Security > ${PERMISSIONS[denied]} on this Mac.`,
      { kind: 'permission_lost', isDead: true, since: report.at },
    );
  if (REQUIRED.some((name) => given[name] !== 'granted')) return unknown();
  return given.accessibility === 'denied'
    ? ok(
        'Messages can be sent and received. Tapbacks, replies, effects and new groups need the Accessibility permission.',
      )
    : ok('All permissions are granted.', report.at);
}

function queue({ mac: connected, traffic: { unanswered }, now }: TenantFacts): LinkCheck {
  if (!connected) return unknown();
  const waits = (count: number) => (count === 1 ? '1 message waits' : `${count} messages wait`);
  const old = (count: number, since: number, isFrozen: boolean) =>
    broken(
      `${waits(count)} on the Mac ${quoted(connected.name)}, the oldest for ${Math.floor((now - since) / 60_000)} minutes${isFrozen ? ', and none has been sent since' : ''}.`,
      'Check that Messages responds on this Mac, then run `footbridge-agent doctor` there.',
      { kind: 'queue_old', isDead: isFrozen, since },
    );
  const report = connected.stateReport;
  if (report?.state.queue === undefined)
    // The Mac may have been offline, so the time is counted from its connection.
    return unanswered !== null && now - connected.since >= FROZEN_MS
      ? old(unanswered.count, unanswered.since, true)
      : unknown();
  const { pending, oldestSec = 0 } = report.state.queue;
  if (pending === 0) return ok('No message waits on the Mac.');
  const { held = 0, nextSlotAt } = report.state.pacing ?? {};
  if (held > 0) {
    const slot = nextSlotAt === undefined ? '' : `; the next free slot is at ${nextSlotAt}`;
    return ok(`${waits(pending)} on the Mac: ${held} over a limit of the line${slot}.`);
  }
  // The Mac reports only changes. Without one, the oldest message is still the same.
  const since = report.at - oldestSec * 1000;
  const lastSentAt = Date.parse(report.state.lastSentAt ?? '') || 0;
  const isFrozen = now - since >= FROZEN_MS && now - lastSentAt >= FROZEN_MS;
  if (isFrozen || now - since > OLD_QUEUE_MS) return old(pending, since, isFrozen);
  return ok(`${waits(pending)} on the Mac.`);
}

function traffic({ mac: connected, traffic: { failing, silent }, now }: TenantFacts): LinkCheck {
  if (!connected) return unknown();
  const { lastOkAt = null, failedSince, code } = connected.stateReport?.state.canary ?? {};
  if (failedSince !== undefined)
    return broken(
      `Test texts from the Mac ${quoted(connected.name)} to its own number ${lastOkAt === null ? 'have never arrived' : 'no longer arrive'}${code === undefined ? '' : ` (${code})`}.`,
      'Send a text by hand in Messages on this Mac. If that fails too, sign out of iMessage there and sign in again.',
      // Some accounts may never receive their own texts, so only a line that once did counts as dead.
      { kind: 'canary_failed', isDead: lastOkAt !== null, since: Date.parse(failedSince) || null },
    );
  if (failing !== null)
    return broken(
      `The last ${failing.count} texts failed on the Mac ${quoted(connected.name)}, the newest with ${failing.code}.`,
      'Send a text by hand in Messages on this Mac. If that fails too, sign out of iMessage there and sign in again.',
      { kind: 'sends_failing', since: failing.since },
    );
  if (silent !== null)
    return broken(
      `No text has arrived for ${Math.floor((now - silent.since) / 3_600_000)} hours, which is unusual for this line at this time of the week; ${silent.sent} were sent.`,
      'Send a text to this line from another phone. If it does not arrive, sign out of iMessage on its Mac and sign in again.',
      { kind: 'line_silent', since: silent.since },
    );
  return ok('Texts get through as usual.');
}

function crm({ crmCalls }: TenantFacts): LinkCheck {
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
    { kind: 'crm_rejecting', since: rejectedSince },
  );
}

const quoted = (name: string) => (name === '' ? 'without a name' : `“${name}”`);
const ok = (sentence: string, since: number | null = null): LinkCheck => ({ state: 'ok', sentence, since });
const waiting = (sentence: string): LinkCheck => ({ state: 'waiting', sentence, since: null });
const unknown = (): LinkCheck => ({
  state: 'unknown',
  sentence: 'The Mac has not reported this.',
  since: null,
});
const broken = (
  sentence: string,
  action: string,
  { since = null, ...problem }: Pick<Problem, 'kind'> & Partial<Pick<Problem, 'isDead' | 'since'>>,
): LinkCheck => ({ state: 'broken', sentence, action, since, ...problem });
