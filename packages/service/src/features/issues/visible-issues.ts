import type { TimedPage, TimedPlace } from '../../platform/timed-page.ts';
import type { Issue } from './issues-sql.ts';

/** Returns the issues of these locations, and none that affect the whole service. Null: all issues. */
export function visibleIssues(issues: readonly Issue[], locations: ReadonlySet<string> | null): Issue[] {
  if (locations === null) return [...issues];
  return issues.flatMap((issue) => {
    const locationIds = issue.locationIds?.filter((locationId) => locations.has(locationId)) ?? [];
    return locationIds.length === 0 ? [] : [{ ...issue, locationIds }];
  });
}

/** Reads issues, at most `limit` at once, until `limit` of them are visible. */
export async function readVisible(
  { limit, after }: TimedPage,
  locations: ReadonlySet<string> | null,
  read: (page: TimedPage) => Promise<readonly Issue[]>,
  placeOf: (issue: Issue) => TimedPlace,
): Promise<Issue[]> {
  const visible: Issue[] = [];
  let from = after;
  for (;;) {
    const some = await read({ limit, after: from });
    visible.push(...visibleIssues(some, locations));
    const last = some.at(-1);
    if (visible.length >= limit || some.length < limit || last === undefined) return visible.slice(0, limit);
    from = placeOf(last);
  }
}

/** Returns how many of these issues were open at each of the times. */
export const openAt = (issues: readonly Issue[], times: readonly number[]): number[] =>
  times.map(
    (time) =>
      issues.filter(({ openedAt, closedAt }) => openedAt <= time && (closedAt === null || closedAt > time))
        .length,
  );
