export type State = 'pass' | 'warn' | 'fail' | 'not_tried';

/** The outcome of a check: what it observed and, unless it passed, what to do about it. */
export interface Outcome {
  readonly state: State;
  readonly seen: string;
  /** What to do, where it differs from the remedy of the check. */
  readonly next?: string;
}

/** One rule of the contract, checked on a CRM. */
export interface Rule {
  /** Stable, so that reports of different runs can be compared. */
  readonly id: string;
  readonly title: string;
  /** What a conformant CRM does. */
  readonly expected: string;
  /** What to change in a CRM that breaks the rule. */
  readonly remedy: string;
}

/** The result of one check. */
export interface CheckResult {
  readonly id: string;
  readonly title: string;
  readonly state: State;
  readonly expected: string;
  readonly seen: string;
  readonly next?: string;
  readonly ms: number;
}

export const pass = (seen: string): Outcome => ({ state: 'pass', seen });
export const warn = (seen: string, next?: string): Outcome => outcome('warn', seen, next);
export const fail = (seen: string, next?: string): Outcome => outcome('fail', seen, next);
/** The check needs something that is not available. */
export const notTried = (seen: string, next: string): Outcome => outcome('not_tried', seen, next);

const outcome = (state: State, seen: string, next: string | undefined): Outcome => ({
  state,
  seen,
  ...(next !== undefined && { next }),
});

export function toResult({ id, title, expected, remedy }: Rule, found: Outcome, ms: number): CheckResult {
  const { state, seen } = found;
  const next = state === 'pass' ? undefined : (found.next ?? remedy);
  return { id, title, state, expected, seen, ...(next !== undefined && { next }), ms: Math.round(ms) };
}
