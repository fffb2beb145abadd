/**
 * Counters and histograms of the hot paths, in the text format of Prometheus. Label values come in the order of their names, so an
 * event costs one look into a Map; a library that takes labels by name checks and hashes them every time.
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
  readonly #counts = new Map<string, number>();

  constructor(described: Described) {
    this.#described = described;
    if (named(described).length === 0) this.#counts.set('', 0);
  }

  add(first = '', second?: string): void {
    const key = keyOf(first, second);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  render(): string {
    const series = [...this.#counts].map(([key, count]) => line(this.#described, '', key, count));
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
  readonly #spreads = new Map<string, Spread>();

  /** Upper bounds in seconds, rising. */
  constructor(described: Described, bounds: readonly number[]) {
    this.#described = described;
    this.#bounds = bounds;
    if (named(described).length === 0) this.#spreadOf('');
  }

  observe(seconds: number, first = '', second?: string): void {
    const spread = this.#spreadOf(keyOf(first, second));
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

  #spreadOf(key: string): Spread {
    const known = this.#spreads.get(key);
    if (known !== undefined) return known;
    const fresh = { inBucket: this.#bounds.map(() => 0), sum: 0, count: 0 };
    this.#spreads.set(key, fresh);
    return fresh;
  }

  render(): string {
    const described = this.#described;
    const series = [...this.#spreads].flatMap(([key, { inBucket, sum, count }]) => {
      let upTo = 0;
      const buckets = this.#bounds.map((bound, at) => {
        upTo += inBucket[at] ?? 0;
        return line(described, '_bucket', key, upTo, `le="${bound}"`);
      });
      return [
        ...buckets,
        line(described, '_bucket', key, count, 'le="+Inf"'),
        line(described, '_sum', key, sum),
        line(described, '_count', key, count),
      ];
    });
    return [heading(described, 'histogram'), ...series].join('\n');
  }
}

const keyOf = (first: string, second: string | undefined): string =>
  second === undefined ? first : `${first}\0${second}`;

const named = ({ labels = [] }: Described): readonly string[] => labels;

function heading({ name, help }: Described, type: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}`;
}

function line(described: Described, suffix: string, key: string, value: number, more?: string): string {
  const values = key.split('\0');
  const pairs = named(described).map((label, at) => `${label}="${escaped(values[at] ?? '')}"`);
  const labels = more === undefined ? pairs : [more, ...pairs];
  return `${described.name}${suffix}${labels.length === 0 ? '' : `{${labels.join(',')}}`} ${value}`;
}

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
