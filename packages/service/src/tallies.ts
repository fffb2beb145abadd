/**
 * Counters and histograms of the hot paths, in the text format of Prometheus. Label values come in the order of their names, so an
 * event costs a look into a Map for each; a library that takes labels by name checks and hashes them every time.
 */
export interface Tally {
  render(): string;
}

interface Described {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly [] | readonly [string] | readonly [string, string];
}

export class Counts implements Tally {
  readonly #described: Described;
  readonly #counts = new Series(() => ({ count: 0 }));

  constructor(described: Described) {
    this.#described = described;
    if (named(described).length === 0) this.#counts.of('', '');
  }

  add(first = '', second = ''): void {
    this.#counts.of(first, second).count++;
  }

  render(): string {
    const series = this.#counts.all.map(([values, { count }]) => line(this.#described, '', values, count));
    return [heading(this.#described, 'counter'), ...series].join('\n');
  }
}

interface Spread {
  readonly inBucket: number[];
  sum: number;
  count: number;
}

export class Durations implements Tally {
  readonly #described: Described;
  readonly #bounds: readonly number[];
  readonly #spreads: Series<Spread>;

  /** Upper bounds in seconds, rising. */
  constructor(described: Described, bounds: readonly number[]) {
    this.#described = described;
    this.#bounds = bounds;
    this.#spreads = new Series(() => ({ inBucket: bounds.map(() => 0), sum: 0, count: 0 }));
    if (named(described).length === 0) this.#spreads.of('', '');
  }

  observe(seconds: number, first = '', second = ''): void {
    const spread = this.#spreads.of(first, second);
    spread.sum += seconds;
    spread.count++;
    let at = 0;
    for (const bound of this.#bounds) {
      if (seconds <= bound) break;
      at++;
    }
    // Beyond the last bound only the count tells.
    if (at < spread.inBucket.length) spread.inBucket[at] = (spread.inBucket[at] ?? 0) + 1;
  }

  render(): string {
    const described = this.#described;
    const series = this.#spreads.all.flatMap(([values, { inBucket, sum, count }]) => {
      let upTo = 0;
      const buckets = this.#bounds.map((bound, at) => {
        upTo += inBucket[at] ?? 0;
        return line(described, '_bucket', values, upTo, `le="${bound}"`);
      });
      return [
        ...buckets,
        line(described, '_bucket', values, count, 'le="+Inf"'),
        line(described, '_sum', values, sum),
        line(described, '_count', values, count),
      ];
    });
    return [heading(described, 'histogram'), ...series].join('\n');
  }
}

/** One of something for every pair of label values seen. */
class Series<T> {
  readonly #fresh: () => T;
  readonly #byFirst = new Map<string, Map<string, T>>();
  /** In the order in which they were first seen. */
  readonly all: [values: readonly string[], one: T][] = [];

  constructor(fresh: () => T) {
    this.#fresh = fresh;
  }

  of(first: string, second: string): T {
    const bySecond = this.#byFirst.get(first);
    const known = bySecond?.get(second);
    if (known !== undefined) return known;
    const fresh = this.#fresh();
    if (bySecond === undefined) this.#byFirst.set(first, new Map([[second, fresh]]));
    else bySecond.set(second, fresh);
    this.all.push([[first, second], fresh]);
    return fresh;
  }
}

const named = ({ labels = [] }: Described): readonly string[] => labels;

function heading({ name, help }: Described, type: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}`;
}

function line(
  described: Described,
  suffix: string,
  values: readonly string[],
  value: number,
  more?: string,
): string {
  const pairs = named(described).map((label, at) => `${label}="${escaped(values[at] ?? '')}"`);
  const labels = more === undefined ? pairs : [more, ...pairs];
  return `${described.name}${suffix}${labels.length === 0 ? '' : `{${labels.join(',')}}`} ${value}`;
}

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
