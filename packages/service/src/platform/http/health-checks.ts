/** A dependency of the service. `check` rejects when it is unavailable. */
export interface HealthCheck {
  readonly name: string;
  readonly check: () => Promise<void>;
}

export type HealthResults = Readonly<Record<string, 'ok' | 'fail'>>;

/** Runs all checks at the same time. Never rejects. */
export async function runChecks(checks: readonly HealthCheck[]): Promise<HealthResults> {
  const results = await Promise.allSettled(checks.map(({ check }) => check()));
  return Object.fromEntries(
    checks.map(({ name }, index) => [name, results[index]?.status === 'fulfilled' ? 'ok' : 'fail']),
  );
}

export const hasFailed = (results: HealthResults): boolean => Object.values(results).includes('fail');
