import type { Issue } from './issues.ts';

/** Returns the issues of these locations, and none that affect the whole service. Null: all issues. */
export function visibleIssues(issues: readonly Issue[], locations: ReadonlySet<string> | null): Issue[] {
  if (locations === null) return [...issues];
  return issues.flatMap((issue) => {
    const locationIds = issue.locationIds?.filter((locationId) => locations.has(locationId)) ?? [];
    return locationIds.length === 0 ? [] : [{ ...issue, locationIds }];
  });
}

/** Returns how many of these issues were open at each of the times. */
export const openAt = (issues: readonly Issue[], times: readonly number[]): number[] =>
  times.map(
    (time) =>
      issues.filter(({ openedAt, closedAt }) => openedAt <= time && (closedAt === null || closedAt > time))
        .length,
  );
