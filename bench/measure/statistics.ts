/** Returns a quantile, with linear interpolation between neighbours. */
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

/** Returns one ratio per round. Other load on the machine affects both values of a round alike. */
export function ratios(values: readonly number[], baseline: readonly number[]): number[] {
  return values.slice(0, baseline.length).map((value, round) => value / (baseline[round] ?? Number.NaN));
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

/** Returns the slope of the least-squares line. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / points.length;
  const covariance = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const variance = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return covariance / variance;
}
