/** Something that is wrong now. */
export interface Finding {
  readonly kind: string;
  /** What it is about: a location, a license, a host. There is at most one open issue for a kind and a subject. */
  readonly subject: string;
  /** The locations that it affects; null: all of them. */
  readonly locationIds: readonly string[] | null;
  readonly sentence: string;
  readonly action: string;
  /** When it began, if known. */
  readonly since: number | null;
  /** The license that it affects, if it is one. */
  readonly licenseId?: string | null;
}

/** What a part of the service looks at, every few seconds. */
export interface Check {
  find(): readonly Finding[] | Promise<readonly Finding[]>;
  /** Whether it is not known now if this issue persists. Called after `find`. */
  isUndecided?(issue: Pick<Finding, 'kind' | 'subject'>): boolean;
}

export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;
