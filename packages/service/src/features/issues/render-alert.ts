import { MAX_TIMES_AN_HOUR } from './alerts.ts';
import type { Alert, AlertedChange, AlertedIssue } from './alerts.ts';

/** An alert in words. */
export interface RenderedAlert {
  readonly title: string;
  readonly lines: readonly string[];
}

const WORDS: Readonly<Record<AlertedChange, string>> = {
  opened: 'Open',
  reminder: 'Still open',
  closed: 'Resolved',
};
const MAX_LINES = 20;
const SHOWN_LOCATIONS = 5;
const MINUTE_MS = 60_000;

export function renderAlert({ changes }: Alert): RenderedAlert {
  const [first] = changes;
  if (first === undefined)
    return { title: 'Test alert', lines: ['Alerts from this Footbridge service arrive here.'] };
  if (changes.length > 1) return digest(changes);
  const { change, issue } = first;
  return {
    title: `${WORDS[change]}: ${clean(issue.sentence)}`,
    lines: [
      when(issue),
      `Affects: ${affected(issue)}`,
      ...reopened(issue),
      ...(change === 'closed' ? [] : [`Next: ${clean(issue.action)}`]),
      ...heldBack(changes),
    ],
  };
}

function digest(changes: Alert['changes']): RenderedAlert {
  const counts = Object.entries(WORDS).flatMap(([change, word]) => {
    const count = changes.filter((one) => one.change === change).length;
    return count === 0 ? [] : [`${count} ${word.toLowerCase()}`];
  });
  const rest = changes.length - MAX_LINES;
  const [action, ...otherActions] = new Set(
    changes.filter(({ change }) => change !== 'closed').map(({ issue }) => clean(issue.action)),
  );
  return {
    title: `${changes.length} changes: ${counts.join(', ')}; affects ${affectedTogether(changes)}`,
    lines: [
      ...changes
        .slice(0, MAX_LINES)
        .map(
          ({ change, issue }) =>
            `${WORDS[change]}: ${clean(issue.sentence)} (${affected(issue)}${again(issue)})`,
        ),
      ...(rest > 0 ? [`and ${rest} more`] : []),
      ...(action === undefined
        ? []
        : [`Next: ${otherActions.length === 0 ? action : 'Run `footbridge issues` to see what to do.'}`]),
      ...heldBack(changes),
    ],
  };
}

/** Says how often an issue reopened, because not every change is reported. */
function reopened({ reopened: times = 0 }: AlertedIssue): string[] {
  if (times === 0) return [];
  const often = times === 1 ? 'once' : `${times} times`;
  return [
    `It has opened again ${often}. Further changes are not reported until it has been resolved for an hour.`,
  ];
}

const again = ({ reopened: times = 0 }: AlertedIssue) => (times === 0 ? '' : `, opened again: ${times}`);

function heldBack(changes: Alert['changes']): string[] {
  const count = changes.filter((one) => one.heldBack === true).length;
  if (count === 0) return [];
  const held = count === 1 ? '1 change was' : `${count} changes were`;
  return [`${held} held back: there were ${MAX_TIMES_AN_HOUR} alerts about the license within an hour.`];
}

function affectedTogether(changes: Alert['changes']): string {
  if (changes.some(({ issue }) => issue.locationIds === null)) return 'all locations';
  const count = new Set(changes.flatMap(({ issue }) => issue.locationIds ?? [])).size;
  return count === 1 ? '1 location' : `${count} locations`;
}

function affected({ locationIds, affected: total, names = {} }: AlertedIssue): string {
  if (locationIds === null) return 'all locations';
  const nameOf = new Map(Object.entries(names));
  const shown = locationIds.slice(0, SHOWN_LOCATIONS).map((id) => {
    const name = nameOf.get(id);
    return name === undefined ? id : `${name} (${id})`;
  });
  const rest = (total ?? 0) - shown.length;
  return clean(`${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`);
}

function when({ since, closedAt }: AlertedIssue): string {
  if (closedAt === null) return `Since ${time(since)}`;
  const minutes = Math.max(1, Math.round((closedAt - since) / MINUTE_MS));
  return `From ${time(since)} to ${time(closedAt)} (${minutes === 1 ? '1 minute' : `${minutes} minutes`})`;
}

const time = (at: number) => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

/** Names of Macs, licenses and locations come from outside. Bidirectional control characters could reorder the words after them. */
const clean = (text: string) => text.replaceAll(/[\p{Cc}\p{Bidi_Control}]+/gu, ' ').toWellFormed();
