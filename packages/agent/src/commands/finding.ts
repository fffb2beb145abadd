/** What `doctor` found out about one thing. */
export interface Finding {
  readonly check: string;
  readonly verdict: 'ok' | 'warning' | 'failure';
  readonly detail: string;
  /** What to do next. Every warning and every failure has one. */
  readonly next?: string;
}

export const ok = (check: string, detail: string): Finding => ({ check, verdict: 'ok', detail });

export const warning = (check: string, detail: string, next: string): Finding => ({
  check,
  verdict: 'warning',
  detail,
  next,
});

export const failure = (check: string, detail: string, next: string): Finding => ({
  check,
  verdict: 'failure',
  detail,
  next,
});
