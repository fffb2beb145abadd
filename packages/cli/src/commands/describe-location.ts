import type { listLocations } from '@footbridge/protocol/operator/accounts';
import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { printable } from '@footbridge/runtime/printable';

import { localTime } from '../format-time.ts';

export type Location = ResponseOf<typeof listLocations>['locations'][number];
/** What the Mac reported about itself. A Mac leaves out what it does not know. */
export type ReportedState = NonNullable<NonNullable<Location['connected']>['state']>;

const PERMISSIONS = [
  ['fullDisk', 'Full Disk Access'],
  ['automation', 'Automation'],
  ['accessibility', 'Accessibility'],
] as const;

/** Describes a location and its Mac in sentences, one per line. */
export function describeLocation(location: Location): string {
  const { locationId, name, license, claimed, connected, lastDevice, oauth } = location;
  const owner = license === null ? 'belongs to no license' : `belongs to ${license}`;
  const called = name === undefined ? locationId : `“${name}” (${locationId})`;
  const lines = [`${called} ${owner}. OAuth: ${oauth?.state ?? 'not authorised'}.`];
  if (oauth?.state === 'unreadable')
    lines.push(
      'Its tokens were encrypted with a key that is not in CRM_OAUTH_ENCRYPTION_KEY. Add the former key, or install the app again.',
    );
  if (claimed)
    lines.push(
      `A Mac claimed it, and it is not assigned. To confirm: footbridge location assign ${locationId} LICENSE`,
    );
  if (connected === null)
    lines.push(
      lastDevice === null
        ? 'No Mac is connected, and none has been before.'
        : `No Mac is connected. The last one was ${lastDevice.name}.`,
    );
  else {
    lines.push(`${connected.name} has been connected since ${localTime(connected.since)}.`);
    if (connected.state === null) lines.push('It has not reported its state.');
    else lines.push(...describeState(connected.state));
  }
  return lines.map(printable).join('\n');
}

function describeState(state: ReportedState): string[] {
  const { macos, messages, session, queue } = state;
  const lines = [`It reported its state at ${localTime(state.at)}.`];
  if (macos !== undefined)
    lines.push(`macOS ${macos.version}${macos.build === undefined ? '' : ` (${macos.build})`}.`);
  lines.push(...describePermissions(state.permissions ?? {}));
  if (messages?.running === false) lines.push('Messages is not running.');
  if (messages?.signedIn === false) lines.push('Messages is not signed in.');
  if (session === 'locked') lines.push('The screen is locked.');
  if (session === 'away') lines.push('The user is not logged in, or another user is active.');
  if (queue !== undefined) lines.push(describeQueue(queue));
  lines.push(...describePacing(state.pacing ?? {}));
  if (state.canary !== undefined) lines.push(describeCanary(state.canary));
  lines.push(
    `Last message sent: ${state.lastSentAt === null ? 'none' : localTime(state.lastSentAt)}.`,
    `Last message received: ${state.lastReceivedAt === null ? 'none' : localTime(state.lastReceivedAt)}.`,
  );
  return lines;
}

function describePermissions(permissions: Readonly<Record<string, string>>): string[] {
  const of = (wanted: string) =>
    PERMISSIONS.filter(([name]) => (permissions[name] ?? 'unknown') === wanted)
      .map(([, title]) => title)
      .join(', ');
  const [denied, unknown] = [of('denied'), of('unknown')];
  if (denied === '' && unknown === '') return ['All permissions are granted.'];
  return [
    ...(denied === '' ? [] : [`Permissions missing: ${denied}.`]),
    ...(unknown === '' ? [] : [`Permissions not known: ${unknown}.`]),
  ];
}

function describeQueue({ pending, oldestSec }: { pending: number; oldestSec?: number }): string {
  if (pending === 0) return 'The queue is empty.';
  const age = oldestSec === undefined ? '' : `, the oldest for ${oldestSec} seconds`;
  return `${pending} ${pending === 1 ? 'message waits' : 'messages wait'} in the queue${age}.`;
}

function describePacing(pacing: Partial<NonNullable<ReportedState['pacing']>>): string[] {
  const { newPerHour, newLastHour = 0, newPerDay, newLastDay = 0, held = 0, nextSlotAt } = pacing;
  return [
    ...(newPerHour === undefined
      ? []
      : [`New conversations in the last hour: ${newLastHour} of ${newPerHour}.`]),
    ...(newPerDay === undefined ? [] : [`New conversations in the last day: ${newLastDay} of ${newPerDay}.`]),
    ...(held === 0 ? [] : [`Messages waiting for a limit of the line: ${held}.`]),
    ...(nextSlotAt === undefined ? [] : [`Next free slot: ${localTime(nextSlotAt)}.`]),
  ];
}

function describeCanary({ lastOkAt, failedSince }: NonNullable<ReportedState['canary']>): string {
  if (failedSince !== undefined) return `Test texts have not arrived since ${localTime(failedSince)}.`;
  return lastOkAt === null
    ? 'No test text has been confirmed yet.'
    : `Last test text confirmed: ${localTime(lastOkAt)}.`;
}
