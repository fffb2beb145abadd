/** Quantile of any numbers, by linear interpolation between the neighbours. */
export function quantile(values: Iterable<number>, share: number): number {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) return Number.NaN;
  const position = share * (sorted.length - 1);
  const below = sorted[Math.floor(position)] ?? Number.NaN;
  const above = sorted[Math.ceil(position)] ?? Number.NaN;
  return below + (above - below) * (position - Math.floor(position));
}

export interface Spread {
  readonly median: number;
  readonly q1: number;
  readonly q3: number;
  readonly rounds: number;
}

export function spread(values: readonly number[]): Spread {
  return {
    median: quantile(values, 0.5),
    q1: quantile(values, 0.25),
    q3: quantile(values, 0.75),
    rounds: values.length,
  };
}

/** One ratio per round: what disturbs the machine for longer than a round disturbs both sides of it. */
export function ratios(of: readonly number[], to: readonly number[]): number[] {
  return of.slice(0, to.length).map((value, round) => value / (to[round] ?? Number.NaN));
}

export interface Tail {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly samples: number;
}

export function tail(values: readonly number[] | Float64Array): Tail {
  return {
    p50: quantile(values, 0.5),
    p99: quantile(values, 0.99),
    max: quantile(values, 1),
    samples: values.length,
  };
}

/** Least squares: how much y grows per unit of x. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / points.length;
  const covariance = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const variance = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return covariance / variance;
}
