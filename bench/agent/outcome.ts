/** What a measurement found, and whether its targets are met. */
export interface Outcome {
  readonly found: object;
  readonly isMet: boolean;
}

/** Returns a function that reads a quantile of these times, in milliseconds. */
export function times(all: readonly number[]): (share: number) => number {
  const sorted = all.toSorted((one, other) => one - other);
  return (share) => Number((sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(3));
}
