import { daysOff } from '@footbridge/runtime/clock-guard';
import type { ClockVerdict } from '@footbridge/runtime/clock-guard';

import type { Occurrences } from '../../platform/recent-occurrences.ts';
import { UNREADABLE_TOKENS } from '../../relay/crm/tokens.ts';
import type { Finding } from './issues.ts';

/** A broken link between the CRM and a customer, as shown to the operator. */
export interface BrokenLink {
  /** Null: not an issue. */
  readonly kind: string | null;
  readonly sentence: string;
  readonly action: string;
  readonly since: number | null;
}

/** The facts that this node knows. Shared facts, such as the connected Macs, are the same on every node. */
export interface IssueFacts {
  /** Those with a broken link, and those whose Mac is away. */
  readonly tenants: readonly {
    readonly locationId: string;
    /** Whether a Mac has ever held the location. */
    readonly hadMac: boolean;
    /** Whether its Mac is not connected, or has not reported its state yet. */
    readonly isMacAway: boolean;
    readonly broken: readonly BrokenLink[];
  }[];
  /** Inbound messages that may be missing from the CRM, or be there twice because they were posted again; newest first. */
  readonly uncertain: readonly {
    readonly locationId: string;
    readonly state: string;
    readonly createdAt: number;
  }[];
  /** Messages that ended the service or the agent twice, newest first. */
  readonly setAside: readonly {
    readonly kind: 'outbound' | 'inbound' | 'file';
    readonly locationId: string;
    readonly at: number;
  }[];
  /** The owners of tokens that no configured key has encrypted. */
  readonly unreadableTokens: readonly { readonly kind: string; readonly ownerId: string }[];
  /** Webhooks whose signature header is known but whose signature no key verifies. */
  readonly rejectedSignatures: Occurrences;
  /** By license. */
  readonly seatsRefused: ReadonlyMap<string, Occurrences>;
  readonly licenses: readonly {
    readonly id: string;
    readonly label: string;
    readonly seats: { readonly used: number; readonly max: number };
    /** Listed only for a license in `seatsRefused`. */
    readonly locationIds: readonly string[];
  }[];
  /** By location. */
  readonly contended: ReadonlyMap<string, Occurrences>;
  /** Why other nodes of the database are not in Redis with this one. */
  readonly separations: ReadonlySet<'secret' | 'redis' | 'version'>;
  /** The licenses of the locations that have one. */
  readonly licenseOf: ReadonlyMap<string, string>;
  /** Whether the clock of this node is right, once it was compared. */
  readonly clock: ClockVerdict | undefined;
  readonly disk: { readonly host: string; readonly freeBytes: number; readonly totalBytes: number };
}

/** Fewer may come from a scanner. */
const MIN_REJECTED_SIGNATURES = 5;
const MIN_FREE_SHARE = 0.05;
const MIN_FREE_BYTES = 500_000_000;

/** Returns everything that is wrong, according to these facts. */
export function findIssues(facts: IssueFacts): Finding[] {
  const found = [
    ...facts.tenants.flatMap(ofTenant),
    ...unreadableTokens(facts),
    ...rejectedSignatures(facts),
    ...uncertainDeliveries(facts),
    ...messagesSetAside(facts),
    ...exhaustedSeats(facts),
    ...contendedLocations(facts),
    ...fullDisk(facts),
    ...doubtfulClock(facts),
    ...separateNodes(facts),
  ];
  return found.map((finding) => ({
    ...finding,
    licenseId:
      finding.kind === 'seats_exhausted' ? finding.subject : (facts.licenseOf.get(finding.subject) ?? null),
  }));
}

/** Issues about a Mac. While it is away, its state is not known. */
const OF_MAC: ReadonlySet<string> = new Set([
  'messages_signed_out',
  'messages_not_running',
  'store_unreadable',
  'permission_lost',
  'queue_old',
  'sends_failing',
  'line_silent',
  'canary_failed',
]);

/** Returns the issues that these facts neither confirm nor refute. */
export function undecided<T extends Pick<Finding, 'kind' | 'subject'>>(
  { tenants }: IssueFacts,
  issues: readonly T[],
): Set<T> {
  const away = new Set(
    tenants.filter(({ hadMac, isMacAway }) => hadMac && isMacAway).map(({ locationId }) => locationId),
  );
  return new Set(issues.filter(({ kind, subject }) => OF_MAC.has(kind) && away.has(subject)));
}

function ofTenant({ locationId, hadMac, broken }: IssueFacts['tenants'][number]): Finding[] {
  return broken.flatMap(({ kind, sentence, action, since }) => {
    if (kind === null || (kind === 'mac_offline' && !hadMac)) return [];
    return [{ kind, subject: locationId, locationIds: [locationId], sentence, action, since }];
  });
}

/** One issue for all of them: they have one cause. */
function unreadableTokens({ unreadableTokens: found }: IssueFacts): Finding[] {
  const companies = found.filter(({ kind }) => kind === 'company').length;
  const locationIds = found.filter(({ kind }) => kind !== 'company').map(({ ownerId }) => ownerId);
  if (found.length === 0) return [];
  const owners = [
    ...(companies > 0 ? [counted(companies, 'agency', 'agencies')] : []),
    ...(locationIds.length > 0 ? [counted(locationIds.length, 'location')] : []),
  ];
  const isPrivate = found.some(({ kind }) => kind === 'private');
  return [
    {
      kind: 'tokens_unreadable',
      subject: '',
      // No location has lost its token yet.
      locationIds: locationIds.length === 0 ? null : locationIds,
      sentence: `The CRM cannot be called for ${owners.join(' and ')}. ${UNREADABLE_TOKENS.sentence}`,
      action: UNREADABLE_TOKENS.actions[isPrivate ? 'private' : 'grant'],
      since: null,
    },
  ];
}

function rejectedSignatures({ rejectedSignatures: { count, since } }: IssueFacts): Finding[] {
  if (count < MIN_REJECTED_SIGNATURES) return [];
  return [
    {
      kind: 'signatures_rejected',
      subject: '',
      locationIds: null,
      sentence: `${count} webhooks got 401: their signature header is known, but no key verifies their signatures.`,
      action:
        'Compare the key of the CRM with `footbridge keys list`, and check that no proxy changes the body. `footbridge keys test` names the failing step for a sample.',
      since,
    },
  ];
}

function uncertainDeliveries({ uncertain }: IssueFacts): Finding[] {
  return Array.from(
    Map.groupBy(uncertain, ({ locationId }) => locationId),
    ([locationId, messages]) => {
      const twice = messages.filter(({ state }) => state === 'delivered').length;
      const parked = messages.length - twice;
      const [lacks, repeats] = [counted(parked, 'inbound message'), counted(twice, 'inbound message')];
      return {
        kind: 'deliveries_uncertain' as const,
        subject: locationId,
        locationIds: [locationId],
        sentence: [
          ...(parked > 0 ? [`The CRM may be missing ${lacks}.`] : []),
          ...(twice > 0 ? [`The CRM may have ${repeats} twice.`] : []),
          'Its responses were lost, and its conversations could not be read.',
        ].join(' '),
        action: [
          'Open each message to see what could not be read, and look it up in the CRM.',
          ...(parked > 0 ? ['Redeliver those that are missing.'] : []),
          ...(twice > 0 ? ['Delete the copies of those that are there twice.'] : []),
        ].join(' '),
        since: messages.at(-1)?.createdAt ?? null,
      };
    },
  );
}

const ENDED_TWICE = 'the service or the agent ended twice in the work on each.';

function messagesSetAside({ setAside }: IssueFacts): Finding[] {
  return Array.from(
    Map.groupBy(setAside, ({ locationId }) => locationId),
    ([locationId, found]) => {
      const files = found.filter(({ kind }) => kind === 'file').length;
      const messages = found.length - files;
      return {
        kind: 'messages_set_aside' as const,
        subject: locationId,
        locationIds: [locationId],
        sentence: [
          ...(messages > 0 ? [`${areCounted(messages, 'message')} set aside: ${ENDED_TWICE}`] : []),
          ...(files > 0 ? [`${areCounted(files, 'file')} stored unexamined: ${ENDED_TWICE}`] : []),
        ].join(' '),
        action:
          'Update the service and the agent, and report the log event `message.ended_process`. `footbridge tail --since 30d --code SET_ASIDE --no-follow` lists the messages, and `footbridge redeliver ID` allows another attempt.',
        since: found.at(-1)?.at ?? null,
      };
    },
  );
}

function exhaustedSeats({ licenses, seatsRefused }: IssueFacts): Finding[] {
  return licenses.flatMap(({ id, label, seats, locationIds }) => {
    const refused = seatsRefused.get(id);
    if (refused === undefined || seats.used < seats.max) return [];
    return [
      {
        kind: 'seats_exhausted' as const,
        subject: id,
        locationIds,
        sentence: `A Mac was refused: all ${counted(seats.max, 'seat')} of the license “${label}” are taken.`,
        action: `Free a seat with \`footbridge device revoke\`, or add one with \`footbridge license seats\`.`,
        since: refused.since,
      },
    ];
  });
}

const contendedLocations = ({ contended }: IssueFacts): Finding[] =>
  Array.from(contended, ([locationId, { since }]) => ({
    kind: 'location_contended' as const,
    subject: locationId,
    locationIds: [locationId],
    sentence: 'Several Macs claim this location and displace each other.',
    action:
      'Find them with `footbridge device list`, and stop the agent on all but one, or give the others their own locations.',
    since,
  }));

function fullDisk({ disk: { host, freeBytes, totalBytes } }: IssueFacts): Finding[] {
  if (freeBytes >= MIN_FREE_BYTES && freeBytes >= totalBytes * MIN_FREE_SHARE) return [];
  return [
    {
      kind: 'disk_almost_full',
      subject: host,
      locationIds: null,
      sentence: `The disk of ${host} has ${Math.floor(freeBytes / 1_000_000)} MB left of ${Math.floor(totalBytes / 1_000_000)} MB.`,
      action:
        'Free space on it, or lower JOURNAL_RETENTION_DAYS and ASSET_RETENTION_DAYS. On a full disk nothing can be recorded.',
      since: null,
    },
  ];
}

const CAUSES = {
  secret: [
    'have different values of NODE_SECRET',
    'Set NODE_SECRET to the same value on all nodes, or on none, and restart them.',
  ],
  redis: ['use different Redis servers', 'Set REDIS_URL to the same Redis on all nodes, and restart them.'],
  version: [
    'run different versions with different names in Redis',
    'Stop all nodes at the same time, and start them with the same version.',
  ],
} as const;

/** In the same words on all nodes, which share the issue. */
function separateNodes({ separations }: IssueFacts): Finding[] {
  const causes = (['secret', 'redis', 'version'] as const).filter((cause) => separations.has(cause));
  if (causes.length === 0) return [];
  const because = causes.map((cause) => CAUSES[cause][0]).join(', or ');
  return [
    {
      kind: 'nodes_separate',
      subject: '',
      locationIds: null,
      sentence: `Nodes of this database ${because}: each takes the Macs of the others for not connected, so that webhooks fail.`,
      action: `${causes.map((cause) => CAUSES[cause][1]).join(' ')} The log event \`cluster.node_separate\` names the hosts.`,
      since: null,
    },
  ];
}

const areCounted = (count: number, noun: string) => `${counted(count, noun)} ${count === 1 ? 'is' : 'are'}`;
const counted = (count: number, noun: string, plural = `${noun}s`) =>
  `${count} ${count === 1 ? noun : plural}`;

const WRONG_CLOCK = {
  other_machine: (host: string, off: string) => `The clock of ${host} is ${off}, compared with the CRM's.`,
  step: (host: string, off: string) =>
    `The clock of ${host} jumped, it is ${off}, and the CRM does not respond, so nothing shows which time is right.`,
  old_rows: (host: string, off: string) =>
    `The clock of ${host} cannot be confirmed: the CRM does not respond, and compared with the newest message it is ${off}.`,
} as const;

function doubtfulClock({ clock, disk: { host } }: IssueFacts): Finding[] {
  if (clock === undefined || clock.agrees) return [];
  const { because, aheadMs } = clock;
  return [
    {
      kind: 'clock_doubtful',
      subject: host,
      locationIds: null,
      sentence: `${WRONG_CLOCK[because](host, daysOff(aheadMs))} Expired data is not deleted meanwhile.`,
      action:
        because === 'other_machine'
          ? `Set the clock of ${host}, for example with NTP. Data is deleted again within an hour.`
          : `Check the clock of ${host}, and why the CRM does not respond: \`footbridge doctor\`. If the clock is right, ${because === 'step' ? 'restart the service' : 'the next message confirms it'}.`,
      since: null,
    },
  ];
}
