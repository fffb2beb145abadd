/** The place of an entry in a list that is ordered by time and id. */
export interface TimedPlace {
  readonly at: number;
  readonly id: string;
}

/** A page of such a list. `after`: the place of the last entry of the page before. */
export interface TimedPage {
  readonly limit: number;
  readonly after?: TimedPlace | undefined;
}
